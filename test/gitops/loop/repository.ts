import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";

const author = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"];

/** A Git repository as a team has it: a bare one that the engine reads, and a clone that commits are pushed from. */
export class Repository {
  readonly path: string;
  readonly #clone: string;

  constructor(directory: string) {
    this.path = join(directory, "databases.git");
    this.#clone = join(directory, "clone");
    mkdirSync(this.path);
    git(directory, "init", "--quiet", "--bare", "--initial-branch=main", this.path);
    git(directory, "clone", "--quiet", this.path, this.#clone);
    git(this.#clone, "checkout", "--quiet", "-B", "main");
    writeFileSync(join(this.#clone, "README.md"), "# Databases\n");
    this.#push("Begin");
  }

  /** Commits and pushes files, each one object; `undefined` removes the file. */
  commit(subject: string, files: Readonly<Record<string, object | undefined>>): void {
    for (const [name, object] of Object.entries(files)) {
      const file = join(this.#clone, name);
      if (object === undefined) rmSync(file);
      else writeFileSync(file, stringify(object));
    }
    this.#push(subject);
  }

  /** Reverts the last commit with another. */
  revert(): void {
    git(this.#clone, ...author, "revert", "--no-edit", "HEAD");
    git(this.#clone, "push", "--quiet", "origin", "main");
  }

  #push(subject: string): void {
    git(this.#clone, "add", "--all");
    git(this.#clone, ...author, "commit", "--quiet", "-m", subject);
    git(this.#clone, "push", "--quiet", "origin", "main");
  }
}

function git(directory: string, ...args: readonly string[]): void {
  execFileSync("git", args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
}
