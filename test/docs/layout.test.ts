import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pages } from "./commands.ts";

const index = readFileSync("docs/README.md", "utf8");
const picture = readFileSync("docs/images/architecture.svg", "utf8");
const folders = (path: string) =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

it("docs/README.md lists every page below docs, each once", () => {
  const listed = [...index.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)].map(([, link = ""]) => `docs/${link}`);
  const written = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  expect(listed.toSorted()).toEqual(written.toSorted());
});

describe("the drawn architecture", () => {
  const drawn = [...picture.matchAll(/>([a-z-]+)\/</g)].map(([, name = ""]) => name);
  const rooms = ["manager", "kube", "runtime", "connection", "service-client", "compute"];
  const steps = ["observe", "plan", "execute", "status"];

  it("names the folders that a reconcile passes through, and no other", () => {
    expect(drawn).toEqual([...rooms, ...steps]);
    const paths = [...rooms, ...steps.map((step) => `compute/${step}`)].map((room) => `src/operator/${room}`);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(["README.md", "CONTRIBUTING.md"])("the drawn architecture is shown in %s", (page) => {
    expect(readFileSync(page, "utf8")).toContain("](docs/images/architecture.svg)");
  });
});

describe("the layout in CONTRIBUTING.md", () => {
  // Each line that begins with a path, below the folder that the lines before it opened by their indent.
  const [layout = ""] = [...readFileSync("CONTRIBUTING.md", "utf8").matchAll(/^```\n(src\/main\.ts.*?)^```$/gms)].map(
    ([, block]) => block,
  );
  const open: string[] = [];
  const paths = layout.split("\n").flatMap((line) => {
    const [, indent = "", path] = /^( *)([a-z-]\S*(?:\/|\.ts))(?= |$)/.exec(line) ?? [];
    if (path === undefined || indent.length > 8) return [];
    open.length = indent.length / 2;
    open.push(path);
    return [open.filter((part) => part.endsWith("/") || part === path).join("")];
  });

  it("names only what exists", () => {
    expect(paths.length).toBeGreaterThan(15);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(["src", "src/operator", "src/operator/compute", "src/cli", "src/service", "src/service/postgres"])(
    "names each folder of %s",
    (of) => {
      expect(folders(of).filter((name) => !paths.includes(`${of}/${name}/`))).toEqual([]);
    },
  );
});

describe("docs/design.md", () => {
  const page = readFileSync("docs/design.md", "utf8");
  const [, section = ""] = /^## Three walks$(.*?)^## /ms.exec(page) ?? [];
  const walks = section.split(/^(?=\*\*\w+)/m).slice(1);

  it("docs/design.md has at most 200 lines", () => {
    expect(page.trimEnd().split("\n").length).toBeLessThanOrEqual(200);
  });

  it("walks through a create, a delete and a takeover", () => {
    expect(walks.map((walk) => /^\*\*(\w+)/.exec(walk)?.[1])).toEqual(["Create", "Delete", "Takeover"]);
  });

  it.each(walks)("takes at most twelve files for a walk, numbered, each once: %.20s", (walk) => {
    const rows = [...walk.matchAll(/^(\d+)\. \[[^\]]+\]\(([^)]+)\)/gm)];
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.map(([, number]) => Number(number))).toEqual(rows.map((_, at) => at + 1));
    const files = rows.map(([, , file]) => file);
    expect(new Set(files).size).toBe(files.length);
    // With plan.ts, which each walk begins with.
    expect(files.length + 1).toBeLessThanOrEqual(12);
  });
});
