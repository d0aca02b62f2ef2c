/** Types of `cloudkit-encryption.mjs`, which opens and seals encrypted values for CloudKit JS. */

import type { EncryptionModule } from "./cloudkit.mjs";

export const encryption: EncryptionModule;
export default encryption;
