import type { Run } from "./programs.ts";

/** The checked-out commit. */
export interface Commit {
  readonly id: string;
  /** Time of the commit: every file of the release bears it. */
  readonly time: Date;
  /** Files that differ from the commit. */
  readonly changed: readonly string[];
}

/** Reads the commit of the current directory. Throws where git or the repository is missing. */
export async function checkedOut(run: Run): Promise<Commit> {
  const git = async (...args: string[]) => {
    const ended = await run("git", args);
    if (ended?.status === 0) return ended.stdout;
    const why = ended === undefined ? "git is not on the PATH" : ended.stderr.trim();
    throw new Error(
      `A release is made of a commit, and \`git ${args.join(" ")}\` failed: ${why}. Use a clone with git.`,
    );
  };
  const [id = "", seconds = ""] = (await git("log", "-1", "--format=%H %ct")).trim().split(" ");
  const status = await git("status", "--porcelain", "--untracked-files=normal");
  const changed = status.split("\n").flatMap((line) => (line === "" ? [] : [line.slice(3)]));
  return { id, time: new Date(Number(seconds) * 1000), changed };
}

/** The files below a directory that git knows. */
export async function trackedFiles(run: Run, directory: string): Promise<string[]> {
  const ended = await run("git", ["ls-files", "-z", "--", directory]);
  if (ended?.status !== 0) throw new Error(`git cannot list the files of ${directory}: ${ended?.stderr.trim()}`);
  return ended.stdout.split("\0").filter((path) => path !== "");
}
