import type { Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { onTestFinished, vi } from "vitest";

/**
 * What `look` sees right before each time that a file, or a directory, is synced or written, until the
 * test ends; once in a test.
 */
export async function atEach<Seen>(act: "sync" | "writeFile", look: (file: Stats) => Seen): Promise<Seen[]> {
  const seen: Seen[] = [];
  const handle = await open(import.meta.filename);
  const files: Record<typeof act, (...given: unknown[]) => Promise<void>> = Object.getPrototypeOf(handle);
  await handle.close();
  const really = files[act];
  const spy = vi.spyOn(files, act).mockImplementation(async function (this: FileHandle, ...given) {
    seen.push(look(await this.stat()));
    await really.apply(this, given);
  });
  onTestFinished(() => spy.mockRestore());
  return seen;
}
