import { type PgClient, streamOf } from "../node-postgres.ts";
import { begin, busy, endless, type Holder, long, run, slot, unread, until } from "./holder.ts";
import { indexWithFunction, lockPage } from "./page-lock.ts";

/** What sessions hold. */
export const sessions: Readonly<Record<string, Holder>> = {
  nothing: { hold: () => Promise.resolve() },
  "unread result": unread("stock", []),
  "unread result in the doomed database": unread("doomed", []),
  "unread result in a transaction with a password": unread("stock", ["BEGIN", "CREATE ROLE made_here"]),
  "computing without interrupts": busy("stock", [], endless),
  "computing without interrupts in the doomed database": busy("doomed", [], endless),
  "computing with a lock on the database": busy("stock", ["BEGIN", "COMMENT ON DATABASE doomed IS 'x'"], endless),
  "computing with a lock on the victim's table": busy(
    "stock",
    ["BEGIN", "SELECT count(*) FROM victims.things"],
    endless,
  ),
  "computing with interrupts": busy(
    "doomed",
    [],
    "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
  ),
  sleeping: busy("doomed", [], "SELECT pg_sleep(10000)"),
  "page of an index": {
    hold: async (tenant) => {
      const client = await run(await tenant.open({ role: "app" }), ...indexWithFunction, lockPage.first);
      begin(client, lockPage.change);
      await until(await tenant.open({ role: "app" }), "wait_event = 'PgSleep'");
    },
  },
  "every lock of the server": {
    hold: async (tenant) => {
      const client = await tenant.open();
      await client.query("SELECT pg_advisory_lock(i) FROM generate_series(1, 1000000) i").catch(() => {});
    },
  },
  "COPY in half way": {
    hold: async (tenant) => {
      const client = await run(await tenant.open({ role: "app" }), "BEGIN", "COMMENT ON DATABASE doomed IS 'x'");
      // Another client of the protocol sends data; this one sends none, and waits.
      const stream = streamOf(client);
      const text = Buffer.from("COPY items FROM STDIN\0");
      const packet = Buffer.alloc(5 + text.length);
      packet.write("Q");
      packet.writeInt32BE(4 + text.length, 1);
      text.copy(packet, 5);
      stream.removeAllListeners("data");
      stream.write(packet);
      await until(await tenant.open({ role: "app" }), "query ~ '^COPY'");
    },
  },
  "COPY out unread": {
    hold: async (tenant) => {
      const client = await tenant.open({ role: "app", database: "doomed" });
      begin(client, `COPY (${long}) TO STDOUT`);
      streamOf(client).pause();
      await until(await tenant.open({ role: "app" }), "wait_event = 'ClientWrite'");
    },
  },
  "NOTIFY queue that grows": {
    hold: async (tenant) => {
      const listener = await tenant.open({ role: "app" });
      await run(listener, "LISTEN a", "BEGIN", "SELECT 1");
      await run(
        await tenant.open({ role: "app" }),
        "SELECT pg_notify('a', repeat('x', 7000) || i) FROM generate_series(1, 20000) i",
      );
    },
  },
  "walsender that stalls": {
    hold: async (tenant) => {
      await run(
        await tenant.open({ role: "app" }),
        slot("stalled"),
        "INSERT INTO items SELECT i FROM generate_series(1, 300000) i",
      );
      const client = await tenant.open({ role: "app", settings: { replication: "database" } });
      begin(client, "START_REPLICATION SLOT stalled LOGICAL 0/0");
      streamOf(client).pause();
    },
  },
  "all walsenders": {
    hold: async (tenant) => {
      for (let i = 0; i < 10; i += 1) await tenant.open({ role: "app", settings: { replication: "database" } });
    },
  },
  "passwords in a loop": {
    locksOut: true,
    hold: async (tenant) => {
      const change = "BEGIN ALTER ROLE CURRENT_USER PASSWORD 'stolen'; EXCEPTION WHEN OTHERS THEN NULL; END; COMMIT";
      const clients = [];
      for (let i = 0; i < 10; i += 1) clients.push(await tenant.open());
      for (const client of clients) {
        begin(client, `DO $$ BEGIN LOOP ${change}; END LOOP; END $$`);
      }
    },
  },
  "all connections": {
    locksOut: true,
    hold: async (tenant) => {
      let client: PgClient | undefined;
      do client = await tenant.open({ role: "app" }).catch(() => undefined);
      while (client);
    },
  },
  "replica: unread result": unread(
    "stock",
    ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM items"],
    true,
  ),
  "replica: computing in the doomed database": busy("doomed", [], endless, true),
  "replica: unread in the doomed database": unread("doomed", [], true),
  "replica: in the doomed database": {
    atReplica: true,
    hold: async (tenant) =>
      run(await tenant.open({ role: "app", database: "doomed", replica: true }), "BEGIN", "SELECT 1"),
  },
  "replica: pause": {
    atReplica: true,
    hold: async (tenant) =>
      run(await tenant.open({ role: "app", replica: true }), "SELECT pg_wal_replay_pause()").catch(() => {}),
  },
};
