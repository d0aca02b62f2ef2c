import { header } from "../ui.js";

export default {
    render(view) {
        view.append(header("Home"));
    },
};
