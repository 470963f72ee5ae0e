/**
 * A page with another text between `<!-- begin NAME -->` and `<!-- end NAME -->`, where a program writes what it
 * measured or worked out. The rest of the page is written by hand.
 */
export function withPart(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`The page has no ${begin} with ${end} after it: write both lines.`);
  return `${page.slice(0, from)}${begin}\n\n${text.trim()}\n\n${page.slice(to)}`;
}
