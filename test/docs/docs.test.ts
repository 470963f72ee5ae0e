import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { blocksOf, commandsOf } from "./blocks.ts";
import { pages } from "./commands.ts";

describe.each([...pages])("%s", (page) => {
  const text = readFileSync(page, "utf8");

  it("links only to what is there", () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link);
    const local = links.filter((link) => !link.includes(":"));
    expect(local.filter((link) => !existsSync(join(dirname(page), link)))).toEqual([]);
  });

  it("links only to sections that are there", () => {
    const links = [...text.matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)];
    const lost = links.filter(([, path = "", anchor = ""]) => {
      const target = path === "" ? page : join(dirname(page), path);
      return !anchorsOf(readFileSync(target, "utf8")).has(anchor);
    });
    expect(lost.map(([link]) => link)).toEqual([]);
  });

  it("a page has manifests that are YAML, and commands that name what is there", () => {
    for (const block of blocksOf(page, "yaml")) {
      expect(parseAllDocuments(block).flatMap(({ errors }) => errors)).toEqual([]);
    }
    const named = commandsOf(page).flatMap((command) => /(?:-k|-f) (\S+)/.exec(command)?.[1] ?? []);
    expect(named.filter((path) => path !== "-" && !existsSync(path))).toEqual([]);
  });
});

it("docs/troubleshooting.md has a section for each alert, and for no other", () => {
  const alerts = [...readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8").matchAll(/- alert: (\w+)/g)];
  const [, byAlert = ""] = /^## By alert$(.*?)^## /ms.exec(readFileSync("docs/troubleshooting.md", "utf8")) ?? [];
  const sections = [...byAlert.matchAll(/^### (\w+)/gm)];
  expect(sections.map(([, name]) => name)).toEqual(alerts.map(([, name]) => name));
});

it("each alert's runbook_url leads to its own heading of docs/troubleshooting.md", () => {
  const rules = readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8");
  const anchors = anchorsOf(readFileSync("docs/troubleshooting.md", "utf8"));
  const alerts = rules
    .split(/^ +- alert: /m)
    .slice(1)
    .map((text) => {
      const [name = ""] = /^\w+/.exec(text) ?? [];
      const [, page, anchor = ""] = /runbook_url: \S+\/(\S+)#(\S+)/.exec(text) ?? [];
      return { name, page, isOwn: anchor === name.toLowerCase() && anchors.has(anchor) };
    });
  expect(alerts.length).toBeGreaterThan(15);
  expect(alerts.filter(({ page, isOwn }) => page !== "troubleshooting.md" || !isOwn)).toEqual([]);
});

it("the pages about installing name every overlay", () => {
  const text = readFileSync("docs/install.md", "utf8");
  const overlays = readdirSync("deploy/overlays").map((name) => `deploy/overlays/${name}`);
  expect(overlays.filter((overlay) => !text.includes(`\`${overlay}\``))).toEqual([]);
});

/** The sections of a page as links name them: the heading in small letters, with - for a blank. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...page.replaceAll(/^```.*?^```$/gms, "").matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
