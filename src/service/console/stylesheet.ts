import { assetOf } from "./assets.ts";

const css = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#16202c, #e6ebf0);
  --soft: light-dark(#566373, #9aa8b6);
  --line: light-dark(#dde3e9, #2c3742);
  --page: light-dark(#f6f8fa, #10161c);
  --card: light-dark(#ffffff, #182028);
  --accent: light-dark(#0b6655, #5fd4b6);
  --on-accent: light-dark(#ffffff, #06231c);
  --good: light-dark(#0b6655, #5fd4b6);
  --good-back: light-dark(#e2f4ee, #133229);
  --bad: light-dark(#a3211b, #ff9d95);
  --bad-back: light-dark(#fdeceb, #3a1917);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .25rem .75rem; z-index: 1; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.75rem; padding: .7rem 1.75rem; background: var(--card); border-bottom: 1px solid var(--line); }
header form { margin-left: auto; display: flex; align-items: center; gap: 1rem; }
.brand { font-weight: 700; text-decoration: none; color: var(--ink); }
nav { display: flex; gap: 1.25rem; }
header nav a { text-decoration: none; color: var(--soft); padding: .2rem 0; border-bottom: 2px solid transparent; }
header nav a:hover, header nav a[aria-current] { color: var(--ink); border-color: var(--accent); }
main { max-width: 82rem; margin: 0 auto; padding: 1.5rem 1.75rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .25rem 0 .5rem; }
h2 { font-size: 1.1rem; margin: 0 0 .25rem; }
section { margin-top: 2rem; }
small { display: block; color: var(--soft); font-size: .85em; }
header small, button small, .about small { display: inline; margin-left: .35rem; }
p, dd, li, h1, h2, summary, label { overflow-wrap: anywhere; }
td, th { overflow-wrap: break-word; }
a, b, code, q, strong, td, th { unicode-bidi: isolate; }
code { font: .9em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.about, .hint { color: var(--soft); margin: 0 0 1rem; }
.hint { margin-top: 1rem; max-width: 60rem; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; margin: 0 0 1.25rem; }
.facts dt { color: var(--soft); font-size: .85em; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.facts small { display: inline; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
.chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .7rem .8rem; }
.chart figcaption { color: var(--soft); font-size: .85em; }
.chart svg { display: block; width: 100%; height: auto; }
.chart line { stroke: var(--line); }
.chart text { fill: var(--soft); font-size: 12px; }
.chart .bar { fill: var(--accent); }
.chart circle { fill: var(--accent); stroke: var(--card); }
.chart .back { fill: transparent; }
.chart g:hover .back { fill: var(--line); }
.trail { gap: .5rem; color: var(--soft); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
table { width: 100%; border-collapse: collapse; }
caption { position: absolute; left: -100vw; }
th, td { text-align: left; vertical-align: top; padding: .75rem .8rem; font-weight: 400; }
thead th { color: var(--soft); font-size: .85em; padding-block: .6rem .4rem; white-space: nowrap; }
tbody tr { border-top: 1px solid var(--line); }
tbody tr { scroll-margin-top: 18rem; }
tbody tr:target { box-shadow: inset 4px 0 var(--accent); }
tbody th a { font-weight: 600; }
.cards th code, .whole, .whole small, time { white-space: nowrap; }
.dense th, .dense td { padding-block: .35rem; }
.dense small { display: inline; }
.badge { color: var(--soft); border: 1px solid var(--line); border-radius: 99px; padding: 0 .5rem; font-size: .8em; }
.status { white-space: nowrap; }
.status::before { content: ""; display: inline-block; width: .6em; height: .6em; border-radius: 50%; margin-right: .45em; border: 2px solid var(--soft); }
.status.active { color: var(--good); font-weight: 600; }
.status.active::before { background: var(--good); border-color: var(--good); }
button, select, input { font: inherit; color: inherit; background: var(--card); border: 1px solid light-dark(#8b98a6, #5b6977); border-radius: 6px; padding: .3rem .55rem; }
button { background: var(--accent); color: var(--on-accent); border-color: transparent; padding: .3rem .9rem; font-weight: 600; cursor: pointer; }
button:hover { filter: brightness(1.12); }
button.quiet { background: none; color: var(--accent); border-color: var(--line); }
button.danger { background: var(--bad); color: var(--card); }
.change, .create, .search { display: flex; flex-wrap: wrap; gap: .45rem 1rem; align-items: center; margin: 0; }
.change span { white-space: nowrap; color: var(--soft); }
.change select { color: var(--ink); }
.create { margin-top: 1rem; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; }
.actions .create { margin: 0; gap: .45rem; }
.warning { background: var(--bad-back); border-left: 4px solid var(--bad); border-radius: 10px; padding: .7rem 1rem; margin: 0 0 1.25rem; }
.warning strong { color: var(--bad); }
.search { margin-bottom: 1rem; }
.search input[type="search"] { width: 18rem; max-width: 100%; }
summary { cursor: pointer; color: var(--bad); }
details p { margin: .4rem 0; }
.notice, .problem { border-radius: 10px; padding: .7rem 1rem; margin: 0 0 1.25rem; }
.notice { position: sticky; top: .5rem; background: var(--good-back); border-left: 4px solid var(--good); }
.problem { background: var(--bad-back); border-left: 4px solid var(--bad); }
.problem strong { color: var(--bad); }
.problem p { margin: .15rem 0 0; }
.secret input { display: block; width: 100%; max-width: 64rem; margin-top: .4rem; font: 14px/1.6 ui-monospace, "DejaVu Sans Mono", monospace; }
.narrow { max-width: 30rem; margin: 2rem auto; }
.narrow form { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem; margin-top: 1rem; }
.narrow form p { display: flex; gap: .5rem; margin: .3rem 0 0; }
.narrow form p input { flex: 1; min-width: 0; }
.accounts { list-style: none; padding: 0; margin: .5rem 0 0; display: grid; gap: .5rem; }
.accounts button { width: 100%; text-align: left; background: none; color: var(--ink); border-color: var(--line); padding: .5rem .8rem; }
.pages { margin-top: 1rem; }
.copy { display: none; }
.scripted .copy { display: inline-block; }
.live .again { display: none; }
textarea { display: block; width: 100%; max-width: 64rem; margin-top: .3rem; color: inherit; background: var(--card); border: 1px solid light-dark(#8b98a6, #5b6977); border-radius: 6px; padding: .5rem .7rem; font: 14px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.rows td { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 4rem; padding-block: .35rem; }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .7rem; }
.copyable .copy, .title .copy { padding: 0 .5rem; font-size: .85em; }
.unseen { position: absolute; left: -100vw; }
.tabs { flex-wrap: wrap; gap: .3rem 1rem; margin-top: .5rem; }
.tabs a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
.snippet { display: flex; gap: .5rem; align-items: start; margin-top: .5rem; }
pre { flex: 1; min-width: 0; margin: 0; padding: .6rem .8rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; font: 14px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.value { display: flex; gap: .5rem; align-items: end; }
.value label { flex: 1; min-width: 0; max-width: 72rem; }
.value input { max-width: none; }
@media (max-width: 40rem) {
  header, main { padding-left: 1rem; padding-right: 1rem; }
  .cards thead { position: absolute; left: -100vw; }
  .cards tr, .cards td, .cards th { display: block; }
  .cards tbody tr { padding: .6rem 0; }
  .cards td, .cards tbody th { padding: .15rem .8rem; }
  .cards td:empty { display: none; }
  .cards [data-label]::before { content: attr(data-label) " "; color: var(--soft); }
  .change span { white-space: normal; }
}
@media (max-width: 64rem) {
  .dense thead { position: absolute; left: -100vw; }
  .dense tbody tr { display: grid; grid-template-columns: max-content max-content minmax(0, 1fr); column-gap: .6rem; padding: .3rem .8rem; overflow: hidden; }
  .dense tbody th { grid-column: 1 / -1; padding: 0; }
  .dense td, .dense td:empty { display: block; padding: 0; font-size: .85em; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
  .dense td.minor { display: none; }
}
`;

export const stylesheet = assetOf("css", css);
