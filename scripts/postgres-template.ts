// Has initdb fill a directory beside the programs of Postgres, from which the service makes databases where there is no
// shell: initdb needs one. node scripts/postgres-template.ts DIRECTORY-OF-PROGRAMS UID
import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { initdbArguments, preparedTemplate } from "../src/service/postgres/templates.ts";

const [programs = "", owner = ""] = process.argv.slice(2);
const uid = Number(owner);
const version = execFileSync(join(programs, "postgres"), ["-V"], { encoding: "utf8" });
const directory = join(dirname(programs), preparedTemplate);
// The service gives the role a password of its own.
const password = `${directory}.password`;
writeFileSync(password, "unused\n", { mode: 0o600 });
chownSync(password, uid, uid);
mkdirSync(directory, { mode: 0o700 });
chownSync(directory, uid, uid);
const major = Number(/PostgreSQL\) (\d+)/.exec(version)?.[1]);
const args = initdbArguments(major, directory, password);
execFileSync(join(programs, "initdb"), args, { uid, gid: uid, cwd: "/", stdio: "inherit", env: { LC_ALL: "C" } });
rmSync(password);
// Whoever runs the image makes a copy of it.
execFileSync("chmod", ["-R", "a+rX", directory]);
