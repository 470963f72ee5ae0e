// Has initdb fill a directory beside the programs of Postgres, from which the service makes databases where there is no
// shell: initdb needs one. node scripts/postgres-template.ts DIRECTORY-OF-PROGRAMS UID
import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { initdbArguments, preparedTemplate } from "../src/service/postgres/server/templates.ts";

const [programs = "", owner = ""] = process.argv.slice(2);
const uid = Number(owner);
const version = execFileSync(join(programs, "postgres"), ["-V"], { encoding: "utf8" });
const directory = join(dirname(programs), preparedTemplate);
mkdirSync(directory, { mode: 0o700 });
chownSync(directory, uid, uid);
const major = Number(/PostgreSQL\) (\d+)/.exec(version)?.[1]);
const args = initdbArguments(major, directory);
execFileSync(join(programs, "initdb"), args, { uid, gid: uid, cwd: "/", stdio: "inherit", env: { LC_ALL: "C" } });
// Whoever runs the image makes a copy of it.
execFileSync("chmod", ["-R", "a+rX", directory]);
