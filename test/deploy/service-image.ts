import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Child } from "../support/child.ts";
import { programPath } from "../support/debian.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { librariesOf } from "./libraries.ts";

const dockerfile = readFileSync("Dockerfile", "utf8");
const target = /^FROM \S+ AS service$.*?(?=^FROM )/ms.exec(dockerfile)?.[0] ?? "";

/** The uid that the image runs as; it has a group of the same number. */
export const serviceUid = Number(/^USER (\d+):\1$/m.exec(target)?.[1]);

const debian = { postgres: "/usr/lib/postgresql/15", share: "/usr/share/postgresql/15", pooler: "/usr/sbin/pgbouncer" };

/**
 * What the target `service` of the Dockerfile makes, without a container engine: the same scripts put the same kind of
 * programs into a root directory that holds nothing else, and the service runs in it as the image's user. The programs
 * are those that this Debian packages: Postgres 15, and its own PgBouncer. Needs root.
 */
export class ServiceImage implements Disposable {
  readonly #directory = temporaryDirectory("service-image");

  static async build(): Promise<ServiceImage> {
    const purpose = "The test of the service's image needs Postgres 15 and PgBouncer";
    for (const [variable, path, name] of [
      ["POSTGRES", `${debian.postgres}/bin/postgres`, "postgresql-15"],
      ["PGBOUNCER", debian.pooler, "pgbouncer"],
    ] as const) {
      await programPath({ purpose, variable, path, package: name });
    }
    return new ServiceImage();
  }

  private constructor() {
    const { path: root } = this.#directory;
    chmodSync(root, 0o755);
    execFileSync("sh", ["scripts/postgres-root.sh", root, ...Object.values(debian)]);
    for (const library of [
      ...librariesOf(process.execPath),
      ...librariesOf(`${root}${debian.postgres}/bin/postgres`),
    ]) {
      this.#place(library, library);
    }
    // The base image brings the time zones too.
    cpSync("/usr/share/zoneinfo", this.#made("/usr/share/zoneinfo"), { recursive: true });
    this.#place(process.execPath, "/usr/local/bin/node");
    execFileSync(process.execPath, ["scripts/bundle.ts", join(root, "app")]);
    writeFileSync(this.#made("/etc/passwd"), `nonroot:x:${serviceUid}:${serviceUid}::/home/nonroot:/sbin/nologin\n`);
    this.#template();
    for (const device of ["null", "zero", "urandom", "random"]) writeFileSync(this.#made(`/dev/${device}`), "");
    for (const name of ["proc", "tmp", "data"]) mkdirSync(join(root, name), { recursive: true });
    chownSync(join(root, "data"), serviceUid, serviceUid);
  }

  get data(): string {
    return join(this.#directory.path, "data");
  }

  /** Runs it with these flags beside those of its command; its processes see its own files alone. */
  start(flags: readonly string[]): Promise<Child> {
    const root = this.#directory.path;
    const mounts = [
      `mount -t proc proc ${root}/proc`,
      `mount -t tmpfs -o mode=1777 tmpfs ${root}/tmp`,
      ...["null", "zero", "urandom", "random"].map((device) => `mount --bind /dev/${device} ${root}/dev/${device}`),
    ];
    const words = (name: string): string[] =>
      JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, "m").exec(target)?.[1] ?? "");
    const command = [...words("ENTRYPOINT"), ...words("CMD").filter((flag) => !flag.startsWith("--host=")), ...flags];
    const script = `${mounts.join(" && ")} && exec chroot --userspec=${serviceUid}:${serviceUid} ${root} "$@"`;
    const path = /\bPATH=(\S+)/.exec(target)?.[1];
    const inside = ["/usr/bin/env", "-i", `PATH=${path}:/sbin:/bin`, "unshare", "--mount", "sh", "-c", script, "sh"];
    const [program = "", ...args] = [...inside, ...command];
    return Child.start({ name: "the service's image", command: program, args, env: {} });
  }

  /** As the Dockerfile's stage does: initdb runs where there is a shell, and puts its result beside the programs. */
  #template(): void {
    const programs = join(this.#directory.path, debian.postgres, "bin");
    execFileSync("unshare", [
      "--mount",
      "sh",
      "-c",
      `mount --bind ${join(this.#directory.path, "etc/passwd")} /etc/passwd && exec "$@"`,
      "sh",
      process.execPath,
      "scripts/postgres-template.ts",
      programs,
      String(serviceUid),
    ]);
  }

  #made(path: string): string {
    mkdirSync(dirname(join(this.#directory.path, path)), { recursive: true });
    return join(this.#directory.path, path);
  }

  #place(file: string, path: string): void {
    copyFileSync(file, this.#made(path));
    chmodSync(join(this.#directory.path, path), 0o755);
  }

  [Symbol.dispose](): void {
    this.#directory.remove();
  }
}
