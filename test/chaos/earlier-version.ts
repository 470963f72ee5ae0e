import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../support/guardian.ts";

const root = join(import.meta.dirname, "..", "..");

/** Sources and CRDs of an earlier commit, run with the dependencies of this one. */
export interface EarlierVersion extends Disposable {
  /** Its `src/main.ts`. */
  source: string;
  /** Its folder of CRDs. */
  crds: string;
}

/** Takes an earlier version out of the history. Throws where this clone does not have that commit. */
export function earlierVersion(commit: string): EarlierVersion {
  const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  try {
    git("cat-file", "-e", `${commit}^{commit}`);
  } catch (cause) {
    throw new Error(`This clone has no commit ${commit}. Get the whole history with \`git fetch --unshallow\`.`, {
      cause,
    });
  }
  const directory = temporaryDirectory("earlier");
  const archive = join(directory.path, "archive.tar");
  git("archive", "--format=tar", `--output=${archive}`, commit, "src", "crds", "package.json");
  execFileSync("tar", ["-xf", archive, "-C", directory.path]);
  symlinkSync(join(root, "node_modules"), join(directory.path, "node_modules"));
  return {
    source: join(directory.path, "src", "main.ts"),
    crds: join(directory.path, "crds"),
    [Symbol.dispose]: () => directory.remove(),
  };
}
