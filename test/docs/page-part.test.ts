import { expect, it } from "vitest";
import { withPart } from "../../scripts/page-part.ts";

it("a part is written between its two lines, and the rest of the page stays", () => {
  const page = "# Title\n\n<!-- begin figures -->\n\nold\n\n<!-- end figures -->\n\nThe end.\n";
  const renewed = withPart(page, "figures", "new\n");
  expect(renewed).toBe("# Title\n\n<!-- begin figures -->\n\nnew\n\n<!-- end figures -->\n\nThe end.\n");
  expect(withPart(renewed, "figures", "new")).toBe(renewed);
});

it.each(["# Title\n", "<!-- end figures -->\n<!-- begin figures -->\n", "<!-- begin figures -->\n"])(
  "a page without both lines in their order is refused: %j",
  (page) => {
    expect(() => withPart(page, "figures", "new")).toThrow("has no <!-- begin figures -->");
  },
);
