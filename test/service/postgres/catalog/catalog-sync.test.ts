import { describe, expect, it, test } from "vitest";
import {
  BranchCatalog,
  currentRights,
  notBrought,
  unknownId,
} from "../../../../src/service/postgres/catalog/branch-catalog.ts";
import { syncCatalog, syncLogins } from "../../../../src/service/postgres/catalog/catalog-sync.ts";
import { Held } from "../../../../src/service/postgres/host/failure.ts";
import { privilegedRole } from "../../../../src/service/postgres/session/privileged-role.ts";
import { literal } from "../../../../src/service/postgres/session/quoting.ts";

const roles = [{ name: "app", login: true, passwordSource: "first" }];
const databases = [{ id: 1, name: "stock", ownerName: "app" }];
const wanted: BranchCatalog = { rights: currentRights, roles, databases };

/** Brings the catalog into a server that has these roles; answers the statements that change something. */
async function changes(
  applied: BranchCatalog,
  existing: readonly string[],
  { version = "170010", wants = wanted, isOfAPI = false, prepared = "other" } = {},
): Promise<string[]> {
  const statements: string[] = [];
  const answers = (sql: string) => {
    if (sql.includes("server_version_num")) return [[version]];
    if (/datconnlimit = -2|pg_subscription/.test(sql)) return [];
    if (sql.includes("pg_roles")) return existing.map((name) => [name, isOfAPI || name === privilegedRole ? "t" : "f"]);
    if (sql.includes("datallowconn")) return [[sql.endsWith("'template0'") ? "f" : "t", "-1", "f"]];
    if (sql.startsWith("SELECT datname, oid"))
      return [
        ["stock", "1"],
        ["template0", "2"],
      ];
    if (sql.includes("pg_database")) return [["stock", "app"]];
    if (sql.includes("pg_prepared_xacts")) return [[prepared]];
    statements.push(sql);
    return [];
  };
  const client = { query: (sql: string) => Promise.resolve(answers(sql)), [Symbol.dispose]() {} };
  await syncCatalog({
    applied,
    wanted: wants,
    passwordOf: () => "x",
    connect: () => Promise.resolve(client),
    logOut: () => Promise.resolve(),
    hasLogin: () => {},
  });
  return statements;
}

it("gives the roles of an earlier version of the service the rights of today's, and leaves their passwords", async () => {
  expect(await changes({ rights: 1, roles, databases }, ["app"])).toEqual([
    expect.stringContaining("CREATE DOMAIN pg_catalog.output_plugin"),
    expect.stringContaining("DO INSTEAD NOTHING"),
    'ALTER DATABASE "template0" ALLOW_CONNECTIONS true CONNECTION LIMIT 0',
    expect.stringContaining("CREATE DOMAIN pg_catalog.output_plugin"),
    expect.stringContaining("DO INSTEAD NOTHING"),
    'ALTER DATABASE "template0" ALLOW_CONNECTIONS false CONNECTION LIMIT -1',
    "CREATE ROLE neon_superuser NOLOGIN NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS",
    "GRANT pg_read_all_data, pg_write_all_data TO neon_superuser",
    "GRANT pg_monitor, pg_signal_backend TO neon_superuser WITH ADMIN OPTION",
    "REVOKE pg_create_subscription FROM neon_superuser",
    "ALTER ROLE cloud_admin PASSWORD NULL",
    'ALTER ROLE "app" NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS; GRANT neon_superuser TO "app"',
    'ALTER DATABASE "stock" OWNER TO "app"',
    'GRANT ALL PRIVILEGES ON DATABASE "stock" TO neon_superuser',
  ]);
});

it("data in which the role that the rights come from is missing is given it again, and all rights with it", async () => {
  expect(await changes(wanted, ["app"])).toEqual(
    expect.arrayContaining([
      "CREATE ROLE neon_superuser NOLOGIN NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS",
      expect.stringContaining('GRANT neon_superuser TO "app"'),
    ]),
  );
  expect(await changes(wanted, ["app", privilegedRole])).toEqual([]);
});

describe("a role of the name of one that the API has made and that was not brought", () => {
  const rights = "INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS; GRANT neon_superuser TO";
  const applied = { ...wanted, roles: [{ name: "app", login: true, passwordSource: notBrought }] };

  it("a client's gets another name, and the API's is made beside it", async () => {
    for (const before of [applied, { ...wanted, roles: [] }])
      expect(await changes(before, ["app", privilegedRole])).toEqual([
        expect.stringMatching(/^ALTER ROLE "app" RENAME TO "sql_[0-9a-f]{8}_app"$/),
        `CREATE ROLE "app" NOSUPERUSER ${rights} "app"`,
        expect.stringMatching(/^ALTER ROLE "app" LOGIN PASSWORD 'SCRAM-SHA-256\$/),
      ]);
  });

  it("the service's own, made before it ended, is kept", async () => {
    expect(await changes(applied, ["app", privilegedRole], { isOfAPI: true })).toEqual([
      expect.stringMatching(/^ALTER ROLE "app" LOGIN PASSWORD 'SCRAM-SHA-256\$/),
      `ALTER ROLE "app" NOSUPERUSER ${rights} "app"`,
    ]);
  });

  it("a client's is not dropped with the API's", async () => {
    const wants = { ...wanted, roles: [], databases: [] };
    const before = { ...applied, databases: [] };
    expect(await changes(before, ["app", privilegedRole], { wants })).toEqual([]);
    expect(await changes(before, ["app", privilegedRole], { wants, isOfAPI: true })).toContain('DROP ROLE "app"');
  });
});

it("a database is renamed although another one has a prepared transaction", async () => {
  const wants = { ...wanted, databases: [{ id: 1, name: "shop", ownerName: "app" }] };
  const statements = await changes(wanted, ["app", privilegedRole], { wants });
  expect(statements.filter((sql) => sql.includes("RENAME TO"))).toEqual([
    expect.stringMatching(
      /^ALTER DATABASE "stock" RENAME TO "renamed_0_\w+"; ALTER DATABASE "renamed_0_\w+" RENAME TO "shop"$/,
    ),
  ]);
});

it("a database is not renamed while it has a prepared transaction itself, and nobody's session in it ends for that", async () => {
  const wants = { ...wanted, databases: [{ id: 1, name: "shop", ownerName: "app" }] };
  await expect(changes(wanted, ["app", privilegedRole], { wants, prepared: "stock" })).rejects.toThrow(
    'database "stock" has a prepared transaction: end that first',
  );
});

it("data of a version that recorded no rights is brought up to date, also where its server has all roles", async () => {
  expect(await changes(BranchCatalog.parse({ roles, databases }), ["app", privilegedRole])).toContain(
    'ALTER ROLE "app" NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS; GRANT neon_superuser TO "app"',
  );
});

it("a server is asked only for the roles that the API knows or has known, as its clients may make a million", async () => {
  const asked: string[] = [];
  const query = (sql: string) => {
    asked.push(sql);
    return Promise.resolve(sql.includes("server_version_num") ? [["170010"]] : []);
  };
  const client = { query, [Symbol.dispose]() {} };
  const gone = { name: "o'gone", login: true, passwordSource: "first" };
  await syncCatalog({
    applied: { rights: currentRights, roles: [gone], databases: [] },
    wanted,
    passwordOf: () => "x",
    connect: () => Promise.resolve(client),
    logOut: () => Promise.resolve(),
    hasLogin: () => {},
  });
  expect(asked.filter((sql) => sql.startsWith("SELECT rolname"))).toEqual([
    expect.stringMatching(/ FROM pg_roles WHERE rolname IN \( E'neon_superuser', {2}E'o''gone', {2}E'app'\)$/),
  ]);
});

it("changes no rights of roles that have today's", async () => {
  const current = { rights: currentRights, roles, databases };
  expect(await changes(current, ["app", "neon_superuser"])).toEqual([]);
});

test.each([
  ["150019", /NOCREATEROLE/],
  ["160011", / CREATEROLE/],
  ["180004", / CREATEROLE/],
])("at version %s a client gets no right that leads to the server's files", async (version, attributes) => {
  const statements = await changes({ rights: 1, roles, databases }, ["app"], { version });
  expect(statements.filter((sql) => attributes.test(sql))).toHaveLength(2);
  expect(statements.filter((sql) => sql.startsWith("GRANT pg_create_subscription"))).toEqual([]);
});

describe("a catalogue that changes", () => {
  type Databases = readonly (readonly [name: string, owner: string])[];
  interface Server {
    roles: readonly string[];
    databases: Databases;
    /** In place of what it answers else. */
    answers?: (sql: string) => string[][] | Error | undefined;
  }
  const none = { rights: currentRights, roles: [], databases: [] };
  const ours: Databases = [["postgres", "cloud_admin"]];

  /** Brings a catalogue into a server, and answers the statements that change something, with their database. */
  async function brought(
    applied: Partial<BranchCatalog>,
    meant: Partial<BranchCatalog>,
    { roles: known, databases: present, answers = () => undefined }: Server,
  ): Promise<string[]> {
    const statements: string[] = [];
    let [open, running] = [0, 0];
    const answer = (database: string, sql: string) => {
      if (sql.startsWith("SHOW")) return [["170010"]];
      if (sql.startsWith("SELECT rolname")) return [[privilegedRole, "t"], ...known.map((name) => [name, "f"])];
      if (sql === "SELECT datname FROM pg_database") return present.map(([name]) => [name]);
      if (sql.startsWith("SELECT datname, pg_get_userbyid")) return present.map((one) => [...one, "4711"]);
      if (/^SELECT ('ROLLBACK|datname, oid|datname <>|format|datistemplate|database FROM|datname, EXISTS)/.test(sql))
        return [];
      statements.push(database === "postgres" ? sql : `${database}: ${sql}`);
      return [];
    };
    const answered = (database: string, sql: string) => {
      const own = answers(sql);
      if (own instanceof Error) throw own;
      return own ?? answer(database, sql);
    };
    const connect = (database: string) => {
      open += 1;
      return Promise.resolve({
        // Takes time: a step that nobody waits for is under way when the next one begins.
        query: async (sql: string) => {
          expect(running).toBe(0);
          running += 1;
          await new Promise<void>((resolve) => setImmediate(resolve));
          running -= 1;
          return answered(database, sql);
        },
        [Symbol.dispose]: () => void (open -= 1),
      });
    };
    await syncCatalog({
      applied: { ...none, ...applied },
      wanted: { ...none, ...meant },
      passwordOf: (source) => `password ${source}`,
      connect,
      logOut: () => Promise.resolve(),
      hasLogin: () => {},
    });
    expect([open, running]).toEqual([0, 0]);
    return statements
      .map((sql) => sql.replace(/renamed_(\d)_[0-9a-f]{16}/g, "between $1"))
      .map((sql) => sql.replace(/'SCRAM-SHA-256\$[^']*'/, "VERIFIER"));
  }

  const app = { name: "app", login: true, passwordSource: "first" };
  const group = { name: "group", login: false, passwordSource: "first" };
  const database = (id: number, name: string) => ({ id, name, ownerName: "app" });

  const endOf = (condition: string) => {
    const those = `FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${condition}`;
    return [`SELECT pg_terminate_backend(pid) ${those}`, expect.stringMatching(/pg_terminate_backend/)];
  };
  const disconnect = (name: string) => endOf(`datname =${literal(name)}`);
  const reset = ['ALTER ROLE "app" NOLOGIN', ...endOf("usename = E'app'"), 'ALTER ROLE "app" LOGIN PASSWORD VERIFIER'];

  it.each([
    ["as it is", app, app, []],
    ["has another password", app, { ...app, passwordSource: "second" }, reset],
    ["may log in no more", app, { ...app, login: false }, ['ALTER ROLE "app" NOLOGIN']],
    ["may log in now", { ...app, login: false }, app, ['ALTER ROLE "app" LOGIN PASSWORD VERIFIER']],
    ["may still not log in", group, group, []],
  ])("a role that is in the server and %s gets what differs", async (_, before, after, expected) => {
    const server = { roles: [after.name], databases: ours };
    expect(await brought({ roles: [before] }, { roles: [after] }, server)).toEqual(expected);
  });

  it("a role that another session changes at this moment gets what differs once the sessions that change roles have ended", async () => {
    const refused = [new Error("tuple concurrently updated")];
    const answers = (sql: string) => (sql === 'ALTER ROLE "app" NOLOGIN' ? refused.pop() : undefined);
    const server = { roles: ["app"], databases: ours, answers };
    expect(await brought({ roles: [app] }, { roles: [{ ...app, login: false }] }, server)).toEqual([
      expect.stringMatching(/^SELECT pg_terminate_backend\(pid\) .*'pg_authid'::regclass/s),
      expect.stringMatching(/pg_terminate_backend.*'pg_authid'::regclass/s),
      'ALTER ROLE "app" NOLOGIN',
    ]);
  });

  it.each([
    ["changes", 'ALTER ROLE "app" NOLOGIN', [{ ...app, login: false }]],
    ["drops", 'DROP ROLE "app"', []],
  ])(
    "what %s a role, and is refused again and again, is held up by clients: a start may succeed",
    async (_, sql, meant) => {
      const answers = (asked: string) => (asked === sql ? new Error("tuple concurrently updated") : undefined);
      const failed = brought({ roles: [app] }, { roles: meant }, { roles: ["app"], databases: ours, answers });
      const failure = await failed.catch((error: unknown) => error);
      expect([failure instanceof Held, String(failure)]).toEqual([true, "Held: tuple concurrently updated"]);
    },
  );

  it("what is left of a database whose drop was broken off goes, but for one that a client drops, and both names are free", async () => {
    const answers = (sql: string) =>
      sql.startsWith("SELECT datname, EXISTS")
        ? [
            ["half", "f"],
            ["going", "t"],
          ]
        : undefined;
    const present: Databases = [...ours, ["half", "app"], ["going", "app"]];
    const meant = { roles: [app], databases: [database(1, "half"), database(2, "going")] };
    const statements = await brought({ roles: [app] }, meant, { roles: ["app"], databases: present, answers });
    expect(statements.filter((sql) => /^(CREATE|DROP) DATABASE/.test(sql))).toEqual([
      'DROP DATABASE IF EXISTS "half" WITH (FORCE)',
      'CREATE DATABASE "half" OWNER "app" TEMPLATE template0',
      'CREATE DATABASE "going" OWNER "app" TEMPLATE template0',
    ]);
  });

  it("a role that the server lacks is made with rights and password, also where it was brought in before", async () => {
    const expected = [
      'CREATE ROLE "app" NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS; GRANT neon_superuser TO "app"',
      'ALTER ROLE "app" LOGIN PASSWORD VERIFIER',
    ];
    const server = { roles: [], databases: ours };
    expect(await brought({ roles: [app] }, { roles: [app] }, server)).toEqual(expected);
    expect(await brought({}, { roles: [{ ...group, name: "app" }] }, server)).toEqual([
      ...expected.slice(0, 1),
      'ALTER ROLE "app" NOLOGIN',
    ]);
  });

  it("the superuser's password is taken away from data of a version that gave it one, before roles get their rights", async () => {
    const server = { roles: ["app"], databases: ours };
    const [, , , last, ...rest] = await brought({ rights: 3, roles: [app] }, { roles: [app] }, server);
    expect([last, rest]).toEqual([
      "REVOKE pg_create_subscription FROM neon_superuser",
      [
        "ALTER ROLE cloud_admin PASSWORD NULL",
        'ALTER ROLE "app" NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS; GRANT neon_superuser TO "app"',
      ],
    ]);
  });

  it("the password of a role is the one of its source", async () => {
    const asked: string[] = [];
    const query = (sql: string) => Promise.resolve(sql.includes("-2") ? [] : [["170010"]]);
    const client = { query, [Symbol.dispose]() {} };
    const passwordOf = (source: string) => {
      asked.push(source);
      return "x";
    };
    const meant = { ...none, roles: [{ ...app, passwordSource: "second" }] };
    const connect = () => Promise.resolve(client);
    const logOut = () => Promise.resolve();
    await syncCatalog({
      applied: { ...none, roles: [app] },
      wanted: meant,
      passwordOf,
      connect,
      logOut,
      hasLogin: () => {},
    });
    expect(asked).toEqual(["second"]);
  });

  it.each([
    ["all sessions end where a password is reset", { roles: [{ ...app, passwordSource: "second" }] }, [undefined]],
    [
      "all sessions end where a password is reset while another role is gone",
      { roles: [{ ...app, passwordSource: "second" }] },
      [undefined],
      [app, { ...app, name: "left" }],
    ],
    ["sessions of a role that is gone end", { roles: [] }, [["app"]]],
    ["no session ends where a role is made", { roles: [app, { ...app, name: "new" }] }, []],
    ["no session ends where a database is made", { roles: [app], databases: [database(1, "new")] }, []],
  ])("%s", async (_, meant, expected, applied = [app]) => {
    const ended: unknown[] = [];
    const rows = (sql: string) => (sql.includes("pg_roles") ? [["app"], ["left"], ["neon_superuser"]] : [["170010"]]);
    const query = (sql: string) => Promise.resolve(sql.includes("-2") ? [] : rows(sql));
    const client = { query, [Symbol.dispose]() {} };
    await syncCatalog({
      applied: { ...none, roles: applied },
      wanted: { ...none, ...meant },
      passwordOf: () => "x",
      connect: () => Promise.resolve(client),
      logOut: (_primary, whose) => Promise.resolve(void ended.push(whose)),
      hasLogin: () => {},
    });
    expect(ended).toEqual(expected);
  });

  it("a role that is gone is not dropped where its sessions cannot be ended, as those at a replica would stay", async () => {
    const statements: string[] = [];
    const query = (sql: string) => {
      statements.push(sql);
      return Promise.resolve(sql.includes("pg_roles") ? [["app"], ["neon_superuser"]] : [["170010"]]);
    };
    const synced = syncCatalog({
      applied: { ...none, roles: [app] },
      wanted: none,
      passwordOf: () => "x",
      connect: () => Promise.resolve({ query, [Symbol.dispose]() {} }),
      logOut: () => Promise.reject(new Error("the replica is behind")),
      hasLogin: () => {},
    });
    await expect(synced).rejects.toThrow("the replica is behind");
    expect(statements.filter((sql) => sql.startsWith("DROP ROLE"))).toEqual([]);
  });

  it("databases are made, given away and dropped by their ids, those of the store alone and those that differ", async () => {
    const applied = [database(1, "kept"), database(2, "old"), database(3, "lost")];
    const meant = [{ ...database(1, "kept"), ownerName: "other" }, database(4, "new")];
    const present = ["kept", "old", "foreign"].map((name) => [name, "app"] as const);
    expect(
      await brought({ databases: applied }, { databases: meant }, { roles: [], databases: [...ours, ...present] }),
    ).toEqual([
      'DROP DATABASE IF EXISTS "old" WITH (FORCE)',
      'ALTER DATABASE "kept" OWNER TO "other"',
      'CREATE DATABASE "new" OWNER "app" TEMPLATE template0',
      'GRANT ALL PRIVILEGES ON DATABASE "new" TO neon_superuser',
    ]);
  });

  it("a database that was dropped and made again under its name is another one, without the rows of the first", async () => {
    const server = { roles: [], databases: [...ours, ["stock", "app"] as const] };
    expect(await brought({ databases: [database(1, "stock")] }, { databases: [database(2, "stock")] }, server)).toEqual(
      [
        'DROP DATABASE IF EXISTS "stock" WITH (FORCE)',
        'CREATE DATABASE "stock" OWNER "app" TEMPLATE template0',
        'GRANT ALL PRIVILEGES ON DATABASE "stock" TO neon_superuser',
      ],
    );
  });

  it("a database of a copy, whose row is not known, stays where its name is wanted, and goes where it is not", async () => {
    const applied = [database(unknownId, "stock"), database(unknownId, "old")];
    const present = ["stock", "old"].map((name) => [name, "app"] as const);
    expect(
      await brought(
        { databases: applied },
        { databases: [database(7, "stock")] },
        { roles: [], databases: [...ours, ...present] },
      ),
    ).toEqual(['DROP DATABASE IF EXISTS "old" WITH (FORCE)']);
  });

  it("a database goes with what a client has left in it, which would keep it: a mark, transactions, slots", async () => {
    const answers = (sql: string) => {
      if (sql.startsWith("SELECT datistemplate")) return [["t", "t", "t"]];
      return sql.startsWith("SELECT 'ROLLBACK PREPARED") ? [["ROLLBACK PREPARED 'left'"]] : undefined;
    };
    const server = { roles: [], databases: [...ours, ["old", "app"] as const], answers };
    expect(await brought({ databases: [database(1, "old")] }, {}, server)).toEqual([
      'ALTER DATABASE "old" IS_TEMPLATE false',
      "old: ROLLBACK PREPARED 'left'",
      ...disconnect("old"),
      'DROP DATABASE IF EXISTS "old" WITH (FORCE)',
    ]);
  });

  const rename = (from: string, to: string) => `ALTER DATABASE "${from}" RENAME TO "${to}"`;
  const given = (name: string) => `ALTER DATABASE "${name}" OWNER TO "app"`;

  it.each<[string, Record<string, string>, string[], string[]]>([
    [
      "a new name",
      { one: "two" },
      ["one"],
      [...disconnect("one"), `${rename("one", "between 0")}; ${rename("between 0", "two")}`, given("two")],
    ],
    [
      "each other's name",
      { one: "two", two: "one" },
      ["one", "two"],
      [
        ...disconnect("one"),
        ...disconnect("two"),
        [
          rename("one", "between 0"),
          rename("two", "between 1"),
          rename("between 0", "two"),
          rename("between 1", "one"),
        ].join("; "),
      ],
    ],
    [
      "a new name, and that clients have dropped",
      { one: "two" },
      [],
      [
        'CREATE DATABASE "two" OWNER "app" TEMPLATE template0',
        'GRANT ALL PRIVILEGES ON DATABASE "two" TO neon_superuser',
      ],
    ],
    ["the name of a database that clients have made, which keeps it", { one: "two" }, ["one", "two"], []],
    [
      "names one after another, of which a client's database has the last",
      { one: "two", two: "three" },
      ["one", "two", "three"],
      [],
    ],
  ])("databases that take %s are renamed as far as they can be", async (_, renames, present, expected) => {
    const pairs = Object.entries(renames);
    const server = { roles: [], databases: [...ours, ...present.map((name) => [name, "app"] as const)] };
    expect(
      await brought(
        { databases: pairs.map(([from], index) => database(index + 1, from)) },
        { databases: pairs.map(([, to], index) => database(index + 1, to)) },
        server,
      ),
    ).toEqual(expected);
  });

  it("a role that goes leaves its objects to the owner of each database, and none to the service's own role", async () => {
    const server = { roles: ["app", "leaver"], databases: [...ours, ["stock", "app"] as const] };
    expect(await brought({ roles: [app, { ...app, name: "leaver" }] }, { roles: [app] }, server)).toEqual([
      'ALTER ROLE "leaver" NOLOGIN PASSWORD NULL',
      expect.stringMatching(/^DO (?!.*REASSIGN).*DROP OWNED BY %I', pg_get_userbyid\(4711\)/s),
      expect.stringMatching(/^stock: DO .*REASSIGN OWNED BY %I TO %I.*DROP OWNED BY %I.*COMMIT/s),
      'DROP ROLE "leaver"',
    ]);
  });

  it("a role that owns a database stays for it and logs in no more, and one that the server lacks needs nothing", async () => {
    const leaver = { ...app, name: "leaver" };
    const server = { roles: ["leaver"], databases: [...ours, ["stock", "app"], ["left", "leaver"]] as const };
    expect(await brought({ roles: [leaver] }, {}, server)).toEqual(['ALTER ROLE "leaver" NOLOGIN PASSWORD NULL']);
    expect(await brought({ roles: [leaver] }, {}, { ...server, roles: [] })).toEqual([]);
  });
});

it("a start of a branch in which SQL has made thousands of databases looks at each a few times, and not once for each other", async () => {
  let looks = 0;
  const many = Array.from({ length: 1000 }, (_, index) => ({
    name: `database ${index}`,
    ownerName: "app",
    get id() {
      looks += 1;
      return index + 1;
    },
  }));
  const renamed = { id: 1001, name: "after", ownerName: "app" };
  const statements: string[] = [];
  const answers = (sql: string) => {
    if (sql.includes("server_version_num")) return [["170010"]];
    if (sql.includes("datconnlimit = -2")) return [];
    if (sql.includes("FROM pg_roles")) return [["app"], [privilegedRole]];
    if (sql.includes("FROM pg_database")) return [...many, { name: "before" }].map(({ name }) => [name, "app"]);
    if (sql.includes("RENAME")) statements.push(sql);
    return [];
  };
  const client = { query: (sql: string) => Promise.resolve(answers(sql)), [Symbol.dispose]() {} };
  await syncCatalog({
    applied: { ...wanted, databases: [...many, { ...renamed, name: "before" }] },
    wanted: { ...wanted, databases: [...many, renamed] },
    passwordOf: () => "x",
    connect: () => Promise.resolve(client),
    logOut: () => Promise.resolve(),
    hasLogin: () => {},
  });
  expect(statements).toEqual([expect.stringContaining('RENAME TO "after"')]);
  expect(looks).toBeLessThan(20_000);
});

it("the logins of roles are brought as far as that succeeds, and one that cannot be is no failure of its own", async () => {
  const statements: string[] = [];
  const query = (sql: string) => {
    if (sql.includes("pg_roles")) return Promise.resolve([["app"], ["other"]]);
    if (sql.includes('ROLE "app"')) return Promise.reject(new Error("held"));
    statements.push(sql);
    return Promise.resolve([]);
  };
  const both = ["app", "other"].map((name) => ({ name, login: false, passwordSource: "first" }));
  await syncLogins({
    applied: { ...wanted, roles: both.map((role) => ({ ...role, login: true })) },
    wanted: { ...wanted, roles: both },
    passwordOf: () => "x",
    connect: () => Promise.resolve({ query, [Symbol.dispose]() {} }),
    logOut: () => Promise.resolve(),
    hasLogin: () => {},
  });
  expect(statements.at(-1)).toBe('ALTER ROLE "other" NOLOGIN');
});
