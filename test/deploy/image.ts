import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { withoutService } from "../../scripts/release/release.ts";
import { Child } from "../support/child.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { librariesOf } from "./libraries.ts";

/** The Dockerfile without the target `service`: the stages before it and the last. */
const dockerfile = withoutService(readFileSync("Dockerfile", "utf8"));
const words = z.tuple([z.string()], z.string());

/** A list in JSON behind an instruction of the Dockerfile. */
function instruction(name: string): [string, ...string[]] {
  return words.parse(JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, "m").exec(dockerfile)?.[1] ?? "[]"));
}

/** The user of the image, e.g. `65532:65532`. */
export const imageUser = /^USER (\d+:\d+)$/m.exec(dockerfile)?.[1] ?? "none";

/**
 * What the Dockerfile makes, without a container engine: the same build script, the same files at the same places, and
 * a process that sees nothing else, as the image's user and with its command line. Where the machine's owner runs the
 * tests, the process runs as the image's user; else as the user who runs them, in a user namespace and without write
 * access.
 */
export class Image implements Disposable {
  readonly #directory = temporaryDirectory("image");

  constructor() {
    const built = builtAsInDockerfile();
    cpSync(join(built.path, "dist"), this.#at("/app"), { recursive: true });
    built.remove();
    copyFileSync("LICENSE", this.#at("/app/LICENSE"));
    this.#place(process.execPath, "/usr/local/bin/node");
    for (const library of librariesOf(process.execPath)) this.#place(library, library);
  }

  /** Where a path of the image lies on this machine. */
  #at(path: string): string {
    return join(this.#directory.path, path);
  }

  #place(file: string, path: string): void {
    mkdirSync(dirname(this.#at(path)), { recursive: true });
    copyFileSync(file, this.#at(path));
    chmodSync(this.#at(path), 0o755);
  }

  /** Puts a file in, or another in its place at once, as Kubernetes mounts Secrets and tokens and renews them. */
  mount(path: string, content: string): void {
    this.#thaw();
    mkdirSync(dirname(this.#at(path)), { recursive: true });
    writeFileSync(`${this.#at(path)}.new`, content);
    renameSync(`${this.#at(path)}.new`, this.#at(path));
    this.#freeze();
  }

  /** Its files, but for what the base image brings. */
  files(): string[] {
    return globSync("app/**", { cwd: this.#directory.path }).filter((file) => statSync(this.#at(file)).isFile());
  }

  readFile(path: string): string {
    return readFileSync(this.#at(path), "utf8");
  }

  /** Runs a container of it with the given arguments, as another user where named; all of its environment is `env`. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}, user = imageUser): Promise<Child> {
    return this.#run([...instruction("ENTRYPOINT"), ...args], env, user);
  }

  /** Runs a line of JavaScript in its place, to look around. */
  evaluate(script: string): Promise<Child> {
    return this.#run(["/usr/local/bin/node", "--eval", script], {}, imageUser);
  }

  #run(command: readonly string[], env: NodeJS.ProcessEnv, user: string): Promise<Child> {
    this.#freeze();
    const root = this.#directory.path;
    const jail =
      process.getuid?.() === 0
        ? ["chroot", `--userspec=${user}`, root]
        : ["unshare", "--user", `--root=${root}`, "--wd=/"];
    const [program = "", ...rest] = [...jail, ...command];
    return Child.start({ name: "the image", command: program, args: rest, env: { PATH: process.env["PATH"], ...env } });
  }

  #freeze(): void {
    execFileSync("chmod", ["-R", "a+rX,a-w", this.#directory.path]);
  }

  #thaw(): void {
    execFileSync("chmod", ["-R", "u+w", this.#directory.path]);
  }

  [Symbol.dispose](): void {
    this.#thaw();
    this.#directory.remove();
  }
}

/**
 * Carries out the build stage of the Dockerfile: what it copies, and nothing else, into a directory of its own, and
 * what it runs, in its order. The packages are those of the clone, so that its `setup` finds nothing to install.
 */
function builtAsInDockerfile(): { path: string; remove: () => void } {
  const directory = temporaryDirectory("build");
  symlinkSync(join(process.cwd(), "node_modules"), join(directory.path, "node_modules"));
  const [stage = ""] = dockerfile.split(/^FROM (?!.*node:)/m);
  for (const [, step, rest = ""] of stage.matchAll(/^(COPY|RUN) (.+)$/gm)) {
    const parts = rest.split(" ");
    if (step === "RUN") {
      if (parts[0] !== "node") throw new Error(`the Dockerfile runs ${rest}, which is no script of ours`);
      execFileSync(process.execPath, parts.slice(1), { cwd: directory.path, stdio: "inherit" });
    } else {
      const target = join(directory.path, parts.at(-1) ?? "");
      for (const source of parts.slice(0, -1)) {
        cpSync(source, source.endsWith("/") ? target : join(target, source), { recursive: true });
      }
    }
  }
  return directory;
}
