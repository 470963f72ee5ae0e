import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asRoot } from "../service/postgres/rig.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { freePort } from "../support/ports.ts";
import { blocksOf, wordsOf } from "./blocks.ts";
import { commandsFor, filledIn, isMention } from "./commands.ts";
import { Shell } from "./shell.ts";

const commands = commandsFor("test/docs/service.verify.test.ts").map(({ page, text }) => ({ page, text }));
const starts = (text: string) => text.startsWith("compute-operator service") && !text.includes("|");

/** The service as a page starts it, on a free port, in a directory that has what the page speaks of. */
async function serve<T>(line: string, use: (address: string) => Promise<T>): Promise<T> {
  const directory = temporaryDirectory("documents");
  // Servers of Postgres run as another user where this one is root, and have to enter it.
  chmodSync(directory.path, 0o755);
  const [seed = ""] = blocksOf("docs/service.md", "yaml");
  writeFileSync(join(directory.path, "seed.yaml"), seed);
  using shell = new Shell({}, {}, line.includes("deploy/") ? process.cwd() : directory.path);
  const port = await freePort();
  const postgres = line.includes("--postgres") ? ["--postgres-port", "0", ...asRoot] : [];
  const service = await shell.start([line, "--port", String(port), ...postgres].join(" "));
  try {
    await service.waitForLine(/^Listening on http/, 120_000);
    return await use(`127.0.0.1:${port}`);
  } finally {
    await service.kill();
    directory.remove();
  }
}

describe("of what the documents type", () => {
  it.each(commands.filter(({ text }) => starts(text)))("$text ($page) serves", async ({ text }) => {
    const status = await serve(
      filledIn(text),
      async (address) => (await fetch(`http://${address}/api/v2/projects`)).status,
    );
    expect(status).toBe(401);
  });

  it.each(commands.filter(({ text }) => text.startsWith("curl ")))(
    "$text ($page) is answered well",
    async ({ text }) => {
      const words = wordsOf(text);
      const after = (flag: string) => words[words.indexOf(flag) + 1];
      const target = words.find((word) => word.startsWith("localhost:8090")) ?? "";
      const body = words.includes("-d") ? after("-d") : undefined;
      const [header = "", value = ""] = words.includes("-H") ? (after("-H") ?? "").split(": ") : [];
      const answer = await serve("compute-operator service --seed seed.yaml --faults", (address) =>
        fetch(`http://${target.replace("localhost:8090", address)}`, {
          method: (words.includes("-X") ? after("-X") : undefined) ?? "GET",
          ...(body === undefined ? {} : { body }),
          headers: header === "" ? {} : { [header]: value },
        }),
      );
      expect(answer.ok).toBe(true);
    },
  );

  it.each(commands.filter(({ text }) => !starts(text) && !text.startsWith("curl ")))(
    "$text ($page) is a command line that there is",
    async ({ text }) => {
      using shell = new Shell({}, {});
      const every = /^compute-operator ((?:\w+ \| )+\w+)$/.exec(text)?.[1]?.split(" | ");
      const lines = every?.map((name) => `compute-operator ${name}`) ?? [filledIn(text)];
      for (const line of lines) {
        const { status, output } = await shell.type(every !== undefined || isMention(text) ? `${line} --help` : line);
        expect(output).not.toBe("");
        expect(status).toBe(0);
      }
    },
  );
});
