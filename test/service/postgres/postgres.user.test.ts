import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { logIn } from "../../../src/service/postgres/proxy/login.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import { primary, seed } from "./rig.ts";

const [me, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
/** Only root gives files to another user. */
const ids = me === 0 ? { uid: 65_534, gid: 65_534 } : { uid: me, gid: group };

it("servers and poolers run as their user, who owns what the service writes for them", async () => {
  const user = { ...ids, name: "servers" };
  const { path, remove } = temporaryDirectory("pgbouncer");
  onTestFinished(remove);
  writeFileSync(join(path, "pgbouncer"), "", { mode: 0o755 });
  await using fakes = new ServiceOnFakes({ settings: { user }, env: { PATH: path } });
  chmodSync(dirname(fakes.data), 0o755);
  fakes.machine.ends.set("pgbouncer", { status: 0, output: "PgBouncer 1.21.0" });
  await fakes.start(seed);
  const { host, port } = fakes.postgres.backend.address;
  const client = connect(port, host);
  onTestFinished(() => void client.destroy());
  const parameters = { user: "app", database: "stock", options: `endpoint=${primary}-pooler` };
  client.write(startupPacket(0x30000, new Map(Object.entries(parameters))));
  await logIn(client, { password: fakes.passwordOf() });
  expect(fakes.machine.ranAs).toEqual([
    ["postgres", user],
    ["pgbouncer", user],
  ]);
  const home = `${fakes.data}.postgres`;
  const below = (directory: string) => readdirSync(directory).map((name) => join(directory, name));
  const settings = ["postgresql.conf", "pg_hba.conf", "pg_ident.conf"].map((name) => join(fakes.directoryOf(), name));
  const written = [...settings, ...below(join(home, "poolers")), ...below(join(home, "s"))];
  expect(written.length).toBeGreaterThan(6);
  for (const file of written) expect([file, statSync(file).uid]).toEqual([file, user.uid]);
});
