/// The style of the sign-in page: light or dark like the system, for widths from 320 pixels.
enum SignInStyle {
    static let text = HTML(
        trusted: """
            :root { color-scheme: light dark; --page: #f4f2f7; --card: #fff; --text: #211d2b; --quiet: #5b5468; --line: #857d94; --accent: #5a3d9a;
            --on-accent: #fff; --bad: #a3172c; --bad-back: #fdecee; --good-back: #e9f5ee }
            @media (prefers-color-scheme: dark) { :root { --page: #15121c; --card: #1f1b29; --text: #efecf5; --quiet: #b6aec6; --line: #8b829c;
            --accent: #c3aef5; --on-accent: #1b1230; --bad: #ffb3bd; --bad-back: #3d1820; --good-back: #16301f } }
            * { box-sizing: border-box }
            html { font: 100%/1.5 system-ui, sans-serif; -webkit-text-size-adjust: 100%; background: var(--page); color: var(--text) }
            body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem }
            main { width: 100%; max-width: 26rem; background: var(--card); border-radius: 1rem; padding: 1.75rem 1.5rem; overflow-wrap: anywhere;
            box-shadow: 0 1px 2px rgb(0 0 0 / .15), 0 8px 32px rgb(40 20 80 / .08) }
            .shell { width: 3rem; height: 3rem; border-radius: 50% 50% 50% 12%; margin-bottom: 1rem;
            background: conic-gradient(from 200deg at 30% 75%, #9fd8d2, #b9b4f0, #f0b8d4, #f7dcae, #a9e0c4, #9fc7f2, #9fd8d2) }
            h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .75rem }
            p { margin: .75rem 0 }
            a { color: var(--accent) }
            dl { margin: 0 0 1rem; padding: .75rem 0; border-block: 1px solid var(--line) }
            dl div { display: flex; gap: .75rem }
            dt { flex: 0 0 5.25rem; color: var(--quiet) }
            dd { margin: 0; font-weight: 600; min-width: 0 }
            .mark { font-weight: 400; font-size: .8125rem; border: 1px solid var(--line); border-radius: .375rem; padding: 0 .375rem; white-space: nowrap }
            label { display: block; margin-top: .75rem; font-weight: 600 }
            .pair { display: flex; gap: .75rem }
            .pair div { flex: 1 1 0; min-width: 0 }
            .pair + .hint { margin-top: .25rem }
            .icon { width: 1.75rem; height: 1.75rem; border-radius: .375rem; vertical-align: -.5rem; margin-right: .25rem }
            input:not([type=checkbox]) { display: block; width: 100%; min-height: 2.75rem; margin-top: .25rem; padding: .5rem .75rem; font: inherit;
            color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
            input[aria-invalid] { border: 2px solid var(--bad) }
            .check { display: flex; align-items: center; gap: .5rem; min-height: 2rem; margin: .5rem 0 }
            .check[hidden] { display: none }
            .check label { margin: 0; font-weight: 400; padding: .25rem 0 }
            .check input { width: 1.25rem; height: 1.25rem; margin: 0; flex: none; accent-color: var(--accent) }
            .hint { margin: 0; color: var(--quiet) }
            .buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0 .5rem }
            button, .button { flex: 1 1 9rem; min-height: 2.75rem; padding: .5rem 1rem; font: inherit; font-weight: 600; color: var(--accent); background: none;
            border: 1px solid var(--accent); border-radius: .5rem; cursor: pointer }
            button.main { color: var(--on-accent); background: var(--accent) }
            button.quiet { border: 0; text-decoration: underline; flex: none; width: 100% }
            .list { list-style: none; margin: 1rem 0; padding: 0 }
            .list li { display: flex; align-items: center; justify-content: space-between; gap: .75rem; padding: .5rem 0;
            border-bottom: 1px solid var(--line) }
            .list button { min-width: 5.5rem; flex: none }
            .button { text-align: center; text-decoration: none }
            h1:focus { outline: none }
            :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
            .problem, .notice { padding: .75rem; border-radius: .5rem; background: var(--good-back) }
            .problem { color: var(--bad); background: var(--bad-back) }
            @media (forced-colors: active) { button, .problem, .notice { border: 1px solid } }
            """)
}
