import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { replicationCommands } from "../../../src/service/postgres/proxy/replication-commands.ts";
import { route, routeByPassword } from "../../../src/service/postgres/proxy/route.ts";
import { serverMessages } from "../../../src/service/postgres/proxy/server-messages.ts";
import { cancelPacket, readOpening } from "../../../src/service/postgres/proxy/startup.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { errorResponse, Rejection } from "../../../src/service/postgres/session/rejection.ts";

const version = 0x30000;

function packet(code: number, body: Buffer, length = body.length + 8): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length, 0);
  head.writeUInt32BE(code, 4);
  return Buffer.concat([head, body]);
}

const text = fc.string({ minLength: 1, maxLength: 20 }).filter((one) => !one.includes("\0"));
const parameters = fc
  .uniqueArray(
    fc.tuple(
      text,
      fc.string({ maxLength: 20 }).filter((one) => !one.includes("\0")),
    ),
    {
      selector: ([name]) => name,
      maxLength: 8,
    },
  )
  .map((entries) => new Map([["user", "ana"], ...entries.filter(([name]) => name !== "user")]));

describe("the first packet of a client", () => {
  it("the first packet is read as it was written, however it is cut", () => {
    fc.assert(
      fc.property(parameters, fc.nat(), fc.uint8Array({ maxLength: 20 }), (given, cut, rest) => {
        const whole = startupPacket(version, given);
        expect(readOpening(whole.subarray(0, cut % whole.length))).toEqual({ kind: "incomplete" });
        const read = readOpening(Buffer.concat([whole, rest]));
        expect(read).toEqual({ kind: "startup", version, parameters: given, length: whole.length });
      }),
    );
  });

  it("the first packet may have ten thousand bytes, and its end and its layout are looked at", () => {
    const long = (length: number) => readOpening(packet(version, Buffer.alloc(0), length));
    expect([long(10_000), long(8).kind]).toEqual([{ kind: "incomplete" }, "invalid"]);
    for (const length of [7, 10_001]) {
      expect(long(length)).toMatchObject({ rejection: { message: "invalid length of startup packet" } });
    }
    const said = (body: string) => {
      const opening = readOpening(packet(version, Buffer.from(body)));
      return opening.kind === "invalid" ? opening.rejection.message : opening.kind;
    };
    const layout = "invalid startup packet layout";
    expect(["", "user", "user\0", "user\0ana", "user\0ana\0", "user\0ana\0\0x", "\0x\0\0"].map(said)).toEqual(
      Array.from({ length: 7 }, () => layout),
    );
    expect([said("\0"), said("user\0ana\0\0")]).toEqual([
      "no PostgreSQL user name specified in startup packet",
      "startup",
    ]);
  });

  it("the first packet is refused where a name is no UTF-8, which would become another one", () => {
    const opening = readOpening(packet(version, Buffer.from("user\0ana\0database\0odd\xff\0\0", "latin1")));
    expect(opening).toMatchObject({ kind: "invalid", rejection: { sqlState: "22021" } });
  });

  it("a packet with more parameters, or longer options, than any client sends is refused before it is taken apart", () => {
    const named = (count: number) =>
      new Map([["user", "ana"], ...Array.from({ length: count - 1 }, (_, at) => [`p${at}`, "x"] as const)]);
    expect(readOpening(startupPacket(version, named(64)))).toMatchObject({ kind: "startup", parameters: named(64) });
    expect(readOpening(startupPacket(version, named(65)))).toMatchObject({
      rejection: { message: "more than 64 parameters in startup packet" },
    });
    const options = (length: number) =>
      new Map([
        ["user", "ana"],
        ["options", "\\ ".repeat(length / 2)],
      ]);
    expect(readOpening(startupPacket(version, options(2048))).kind).toBe("startup");
    expect(readOpening(startupPacket(version, options(2050)))).toMatchObject({
      rejection: { message: "the parameter options has more than 2048 characters" },
    });
  });

  it("never breaks the reader, whatever its bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, asStartup) => {
        const received = asStartup ? packet(version, Buffer.from(bytes)) : Buffer.from(bytes);
        const kinds = ["incomplete", "tls", "ssl-request", "gss-request", "cancel", "startup", "invalid"];
        expect(kinds).toContain(readOpening(received).kind);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ["a length that no packet has", packet(version, Buffer.alloc(0), 7), "08P01"],
    ["a length beyond Postgres's limit", packet(version, Buffer.alloc(0), 10_001), "08P01"],
    ["a protocol of another kind", packet(0x20000, Buffer.from("user\0ana\0\0")), "0A000"],
    ["no user", packet(version, Buffer.from("database\0a\0\0")), "28000"],
    ["an empty user", packet(version, Buffer.from("user\0\0\0")), "28000"],
    ["a value that does not end", packet(version, Buffer.from("user\0ana")), "08P01"],
    ["a name without a value", packet(version, Buffer.from("user\0ana\0options\0\0")), "08P01"],
    ["a name that is empty", packet(version, Buffer.from("user\0ana\0\0x\0database\0stock\0\0")), "08P01"],
    ["a cancel request without a key", packet(80877102, Buffer.alloc(4)), "08P01"],
  ])("the first packet is refused with %s", (_what, bytes, sqlState) => {
    expect(readOpening(bytes)).toMatchObject({ kind: "invalid", rejection: { sqlState } });
  });

  test.each([
    [packet(80877103, Buffer.alloc(0)), { kind: "ssl-request", length: 8 }],
    [packet(80877104, Buffer.alloc(0)), { kind: "gss-request", length: 8 }],
    [Buffer.from([0x16, 3, 1]), { kind: "tls" }],
    [cancelPacket(Buffer.alloc(8, 7)), { kind: "cancel", key: Buffer.alloc(8, 7) }],
  ])("can ask for something else before: %j", (bytes, opening) => {
    expect(readOpening(bytes)).toEqual(opening);
  });
});

describe("the compute that a client means", () => {
  const given = (options?: string) =>
    new Map([["user", "ana"], ...(options === undefined ? [] : [["options", options] as const])]);

  test.each<[options: string | undefined, serverName: string | undefined, id: string, pooled: boolean, rest?: string]>([
    ["endpoint=ep-a", undefined, "ep-a", false],
    ["endpoint=ep-a-pooler", undefined, "ep-a", true],
    [undefined, "ep-a.localhost", "ep-a", false],
    [undefined, "EP-A-pooler.example.com", "ep-a", true],
    ["endpoint=ep-a", "ep-a.localhost", "ep-a", false],
    ["endpoint=ep-a", "localhost", "ep-a", false],
    ["-c geqo=off endpoint=ep-a  -c x=y", undefined, "ep-a", false, "-c geqo=off -c x=y"],
    ["endpoint=ep-a -c search_path=a\\ b\\\\", undefined, "ep-a", false, "-c search_path=a\\ b\\\\"],
    ["endpoint=ep-a -c x=a\u{a0}b\u{3000}c", undefined, "ep-a", false, "-c x=a\u{a0}b\u{3000}c"],
  ])("the compute that a client means is found in %j and %j", (options, serverName, endpointId, pooled, rest) => {
    const routed = route(given(options), serverName);
    expect(routed.target).toEqual({ endpointId, pooled });
    expect(routed.parameters.get("options")).toBe(rest);
    expect(routed.parameters.get("user")).toBe("ana");
  });

  it.each(["ep-a.localhost", "ep-a-pooler.localhost"])("a client's parameters pass as they are to %s", (host) => {
    const said = { user: "a\\b", database: "c\\d", application_name: "C:\\app", options: "-c TimeZone=a\\\\b\\ c" };
    expect(Object.fromEntries(route(new Map(Object.entries(said)), host).parameters)).toEqual(said);
  });

  it("a role has one name alone, also where a client gives it a longer one, which a server cuts", () => {
    const named = (user: string) => route(new Map([["user", user]]), "ep-a-pooler.localhost").parameters;
    const cut = "r".repeat(63);
    expect([...named(`${cut}s`)]).toEqual([
      ["user", cut],
      ["database", cut],
    ]);
    expect(named(`${"r".repeat(62)}é`).get("user")).toBe("r".repeat(62));
  });

  test.each<[options: string | undefined, serverName: string | undefined, message: RegExp]>([
    [undefined, undefined, /names no compute/],
    ["-c geqo=off", "localhost", /names no compute/],
    ["endpoint=ep-a endpoint=ep-b", undefined, /more than one compute, ep-a and ep-b/],
    ["endpoint=ep-a", "ep-b.localhost", /more than one compute, ep-a and ep-b/],
    ["endpoint=ep-a", "ep-a-pooler.localhost", /more than one compute/],
  ])("a client without one compute is refused in %j and %j", (options, serverName, message) => {
    expect(() => route(given(options), serverName)).toThrow(message);
  });

  const namedBy = (user: string, database: string | undefined) =>
    new Map([["user", user], ...(database === undefined ? [] : [["database", database] as const])]);

  it.each([
    ["pgbouncer", undefined],
    ["pgbouncer", ""],
    ["pgbouncer", "stock"],
    ["ana", "pgbouncer"],
  ])("a client never means PgBouncer's own console: %j in %j", (user, database) => {
    const named = namedBy(user, database);
    expect(() => route(named, "ep-a-pooler.localhost")).toThrow(/pooled host does not .* "pgbouncer"/);
    expect(route(named, "ep-a.localhost").target).toEqual({ endpointId: "ep-a", pooled: false });
  });

  it.each([[undefined], [""], ["ana"]])("a client that names the database %j is given that of its user", (database) => {
    expect(route(namedBy("ana", database), "ep-a.localhost").parameters.get("database")).toBe("ana");
  });

  it.each([
    ["user", "ana\0user\0cloud_admin"],
    ["database", "\0"],
    ["application_name\0user", "cloud_admin"],
  ])("a client whose %j is %j means no compute: the server would read other parameters", (name, value) => {
    const named = new Map([["user", "ana"] as const, [name, value] as const]);
    expect(() => route(named, "ep-a.localhost")).toThrow(/has a zero byte/);
    expect(() => routeByPassword(named, "endpoint=ep-a;secret")).toThrow(/has a zero byte/);
  });

  it("the servers' own role leads to no compute", () => {
    const named = new Map([["user", "cloud_admin"]]);
    expect(() => route(named, "ep-a.localhost")).toThrow(/not permitted to log in/);
    expect(() => routeByPassword(named, "endpoint=ep-a;secret")).toThrow(/not permitted to log in/);
  });

  it("a client that replicates is told from others, however it names its compute", () => {
    const replicating = new Map([...given(), ["replication", "database"]]);
    const targets = [
      route(replicating, "ep-a.localhost").target,
      routeByPassword(replicating, "endpoint=ep-a;secret").routed.target,
    ];
    const target = { endpointId: "ep-a", pooled: false, replicates: true };
    expect(targets).toEqual([target, target]);
  });

  it.each(["database", "true", "off", ""])("a client with replication=%j is refused at the pooled host", (value) => {
    const replicating = new Map([...given("-c post_auth_delay=2147"), ["replication", value]]);
    const refused = "the pooled host serves no client that replicates: use the direct host";
    expect(() => route(replicating, "ep-a-pooler.localhost")).toThrow(refused);
    expect(() => routeByPassword(replicating, "endpoint=ep-a-pooler;secret")).toThrow(refused);
  });

  it.each([
    ["endpoint=ep-a;secret", "ep-a", false, "secret"],
    ["project=ep-a;secret", "ep-a", false, "secret"],
    ["endpoint=ep-a$secret", "ep-a", false, "secret"],
    ["endpoint=ep-a-pooler;a;b$c=\n", "ep-a", true, "a;b$c=\n"],
  ])(
    "the compute before a password, %j, is found, and the rest is the password",
    (password, endpointId, pooled, rest) => {
      const { routed, password: left } = routeByPassword(given("-c geqo=off"), password);
      expect([routed.target, left]).toEqual([{ endpointId, pooled }, rest]);
      expect(Object.fromEntries(routed.parameters)).toEqual({ user: "ana", database: "ana", options: "-c geqo=off" });
    },
  );

  it.each(["secret", "endpoint=;secret", "endpoint=ep-a", " endpoint=ep-a;secret"])(
    "no compute is found before the password %j",
    (password) =>
      expect(() => routeByPassword(given(), password)).toThrow(/names no compute: .*endpoint=<endpoint-id>/),
  );

  it.each(["pgbouncer", "ana"])("PgBouncer's own console is no database of %s before a password either", (user) => {
    const named = namedBy(user, "pgbouncer");
    expect(() => routeByPassword(named, "endpoint=ep-a-pooler;secret")).toThrow(/pooled host does not/);
  });

  it("leaves every other word of the options as the server would read it", () => {
    fc.assert(
      fc.property(
        fc.array(
          text.filter((one) => !one.startsWith("endpoint=")),
          { maxLength: 5 },
        ),
        (words) => {
          const escaped = words.map((word) => word.replaceAll(/[ \t\n\v\f\r\\]/g, "\\$&"));
          const options = [...escaped, "endpoint=ep-a"].join(" ");
          const { parameters: sent } = route(given(options), undefined);
          expect(sent.get("options")).toBe(escaped.length === 0 ? undefined : escaped.join(" "));
        },
      ),
    );
  });
});

describe("what a server says first", () => {
  const message = (type: string, body: Uint8Array) => {
    const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const key = Buffer.from("ourownk!");

  it("reaches the client with another key and otherwise as it was, however it is cut", () => {
    const body = fc.uint8Array({ maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(body),
        body,
        fc.array(body),
        fc.array(fc.nat(), { maxLength: 6 }),
        (before, own, after, cuts) => {
          const head = Buffer.concat(before.map((one) => message("S", one)));
          const tail = Buffer.concat([message("Z", Buffer.from("I")), ...after.map((one) => message("D", one))]);
          const sent = Buffer.concat([head, message("K", own), tail]);
          const keys: Buffer[] = [];
          const greeting = serverMessages(key, (found) => keys.push(found));
          const edges = [0, ...cuts.map((cut) => cut % sent.length).toSorted((one, other) => one - other), sent.length];
          const chunks = edges.slice(1).map((edge, index) => greeting.push(sent.subarray(edges[index], edge)));
          expect(Buffer.concat(chunks)).toEqual(Buffer.concat([head, message("K", key), tail]));
          expect(keys).toEqual([Buffer.from(own)]);
        },
      ),
    );
  });

  it("a server's words are not touched after the first ReadyForQuery, not even what looks like a key", () => {
    const greeting = serverMessages(key, () => expect.unreachable());
    const sent = Buffer.concat([message("Z", Buffer.from("I")), message("K", Buffer.alloc(8))]);
    expect(greeting.push(sent)).toEqual(sent);
    expect(greeting.push(message("K", Buffer.alloc(8)))).toEqual(message("K", Buffer.alloc(8)));
  });
});

describe("what a client that replicates says", () => {
  const message = (type: string, body: string) => {
    const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, Buffer.from(body, "latin1")]);
  };
  const harmless = [
    message("Q", "CREATE_REPLICATION_SLOT feed LOGICAL pgoutput (SNAPSHOT 'nothing')\0"),
    message("Q", "SELECT 'CREATE_REPLICATION_SLOT a/b'\0"),
    message("Q", "START_REPLICATION SLOT feed LOGICAL 0/0 (publication_names '\"a/b\"')\0"),
    message("Q", 'START_REPLICATION SLOT "feed" LOGICAL 0/0\0'),
    message("d", "CREATE_REPLICATION_SLOT a/b\0"),
    message("Q", ""),
  ];
  const harmful = ['create_replication_slot s LOGICAL "a/b"\0', '\t\nCREATE_REPLICATION_SLOT"s"LOGICAL"/x"\0'];

  it("reaches the server as it was up to a slot whose plugin is a path, however it is cut", () => {
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    const messages = fc.array(fc.constantFrom(...harmless), { maxLength: 6 });
    fc.assert(
      fc.property(messages, fc.option(fc.constantFrom(...harmful)), cuts, (before, bad, places) => {
        const good = Buffer.concat(before);
        const sent = Buffer.concat([good, ...(bad === null ? [] : [message("Q", bad)])]);
        const commands = replicationCommands();
        const at = (cut: number) => (sent.length === 0 ? 0 : cut % sent.length);
        const edges = [0, ...places.map(at).toSorted((one, two) => one - two), sent.length];
        const passed: Buffer[] = [];
        let refusal: unknown;
        try {
          for (const [index, edge] of edges.slice(1).entries()) {
            passed.push(Buffer.from(commands.push(sent.subarray(edges[index], edge))));
          }
        } catch (error) {
          refusal = error;
        }
        const reached = Buffer.concat(passed);
        expect(reached).toEqual(good.subarray(0, reached.length));
        expect(String(refusal)).toMatch(bad === null ? /^undefined$/ : /a name without a path/);
        expect(bad !== null || reached.length === good.length).toBe(true);
      }),
    );
  });

  it.each([
    "BASE_BACKUP",
    " base_backup (LABEL 'x')",
    "UPLOAD_MANIFEST",
    "START_REPLICATION 0/0",
    "START_REPLICATION PHYSICAL 0/0 TIMELINE 1",
    "START_REPLICATION SLOT logical 0/0",
    'start_replication slot "logical" physical 0/0',
  ])("a client that replicates cannot copy the server as a whole: %s", (command) => {
    expect(() => replicationCommands().push(message("Q", `${command}\0`))).toThrow(/a client replicates logically/);
  });

  it("a client that replicates cannot have a statement held that is longer than a megabyte, and sends as much data as it likes", () => {
    const long = message("Q", "");
    long.writeUInt32BE(1024 ** 2 + 1, 1);
    expect(() => replicationCommands().push(long)).toThrow(/at most 1048576 bytes/);
    long.writeUInt32BE(1024 ** 2, 1);
    expect(replicationCommands().push(long)).toHaveLength(0);
    const data = Buffer.concat([Buffer.from("d"), long.subarray(1), Buffer.alloc(100)]);
    expect(Buffer.from(replicationCommands().push(data))).toEqual(data);
  });
});

describe("what a server says after its login", () => {
  const message = (type: string, body: Uint8Array) => {
    const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const error = (code: string, says: string) => message("E", Buffer.from(`SERROR\0C${code}\0M${says}\0RFileWrite\0\0`));
  const limit = error("53400", 'temporary file size exceeds "temp_file_limit" (2097kB)');
  const full = error("53100", 'could not write to file "base/pgsql_tmp/pgsql_tmp": No space left on device');
  const other = [error("42P01", "C53400"), error("53400", "another limit"), message("D", limit), message("N", limit)];

  it("reaches the client as it was but for a full temporary disk, however it is cut", () => {
    const anything = fc.oneof(
      fc
        .tuple(fc.constantFrom("D", "C", "Z", "T"), fc.uint8Array({ maxLength: 40 }))
        .map(([type, body]) => message(type, body)),
      fc.constantFrom(limit, ...other),
    );
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 8 }), (messages, cuts) => {
        const sent = Buffer.concat(messages);
        const expected = Buffer.concat(messages.map((one) => (one === limit ? full : one)));
        const errors = serverMessages(Buffer.alloc(8), () => expect.unreachable());
        const at = (cut: number) => (sent.length === 0 ? 0 : cut % sent.length);
        const edges = [0, ...cuts.map(at).toSorted((one, two) => one - two), sent.length];
        const chunks = edges.slice(1).map((edge, index) => errors.push(sent.subarray(edges[index], edge)));
        expect(Buffer.concat(chunks)).toEqual(expected);
      }),
    );
  });

  it("a server's words are passed on as soon as they come, but for the beginning of an error", () => {
    const errors = serverMessages(Buffer.alloc(8), () => expect.unreachable());
    const row = message("D", Buffer.alloc(100));
    expect(errors.push(row.subarray(0, 50))).toEqual(row.subarray(0, 50));
    expect(errors.push(row.subarray(50))).toEqual(row.subarray(50));
    expect(errors.push(limit.subarray(0, 20))).toEqual(Buffer.alloc(0));
    expect(errors.push(limit.subarray(20))).toEqual(full);
  });

  it("an error that a client has made long is held no more than a row is", () => {
    const errors = serverMessages(Buffer.alloc(8), () => expect.unreachable());
    const long = error("53400", "x".repeat(1024 ** 2)).subarray(0, 1000);
    expect(errors.push(long)).toEqual(long);
  });
});

it("refuses a client with an error as Postgres writes one", () => {
  const fields = "SFATAL\0VFATAL\0C08004\0Mno\0\0";
  const expected = Buffer.concat([
    Buffer.from("E\0\0\0", "latin1"),
    Buffer.from([fields.length + 4]),
    Buffer.from(fields),
  ]);
  expect(errorResponse(new Rejection("08004", "n\0o"))).toEqual(expected);
});
