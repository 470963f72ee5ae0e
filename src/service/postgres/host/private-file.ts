import { chown, mkdir, open } from "node:fs/promises";
import type { ProcessUser } from "./processes.ts";

const ownerOnly = 0o600;

/** Makes a directory, for its owner alone where no mode says otherwise; without an owner it is this process's own. */
export async function makeDirectory(directory: string, owner: ProcessUser | undefined, mode = 0o700): Promise<void> {
  await mkdir(directory, { recursive: true, mode });
  if (owner) await chown(directory, owner.uid, owner.gid);
}

/**
 * Writes a file that only its owner may read. Without one it is this process's own. A file that was open to others is
 * closed to them before it gets the text.
 */
export async function writePrivate(file: string, text: string, owner: ProcessUser | undefined): Promise<void> {
  const handle = await open(file, "w", ownerOnly);
  try {
    await handle.chmod(ownerOnly);
    if (owner) await handle.chown(owner.uid, owner.gid);
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
}
