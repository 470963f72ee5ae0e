import { open } from "node:fs/promises";
import type { ProcessUser } from "./processes.ts";

const ownerOnly = 0o600;

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
