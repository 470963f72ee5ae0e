import { chown, writeFile } from "node:fs/promises";
import type { ProcessUser } from "./processes.ts";

/** Writes a file that only its owner may read. Without one it is this process's own. */
export async function writePrivate(file: string, text: string, owner: ProcessUser | undefined): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  if (owner) await chown(file, owner.uid, owner.gid);
}
