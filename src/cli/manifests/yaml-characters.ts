import { Document, visit } from "yaml";

/**
 * A character that kubectl refuses in YAML, or takes for the end of a line where YAML 1.2 does not: after it a comment
 * or a text goes on as fields.
 */
const odd = /[^\t\n\r\u0020-\u007e\u00a0-\u2027\u202a-\ufffd\u{10000}-\u{10ffff}]|\r(?!\n)/u;

/** The place of the first such character of a file, and how it is written in double quotes. */
export function oddCharacter(text: string): { at: number; written: string } | undefined {
  const found = odd.exec(text);
  return found === null || isJSON(text) ? undefined : { at: found.index, written: escaped(found[0]) };
}

/** JSON may hold them in texts, and kubectl reads it as JSON. */
function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** An object as YAML that kubectl reads as it is. */
export function kubectlYAML(manifest: object): string {
  const document = new Document(manifest, { compat: "yaml-1.1" });
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === "string" && odd.test(node.value)) node.type = "QUOTE_DOUBLE";
    },
  });
  // In quotes the writer leaves some of them as they are.
  return document.toString({ lineWidth: 0 }).replaceAll(new RegExp(odd, "gu"), escaped);
}

function escaped(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
