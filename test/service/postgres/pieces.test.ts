import { createHmac, createPrivateKey, pbkdf2Sync, X509Certificate } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { forbiddenSetting } from "../../../src/service/postgres/allowed-settings.ts";
import { configText, limitsOf, sharedBuffersMB } from "../../../src/service/postgres/config.ts";
import { copyTree, renameDurably } from "../../../src/service/postgres/copy-tree.ts";
import { stopLeftover } from "../../../src/service/postgres/leftover.ts";
import type { Processes, ProcessFacts } from "../../../src/service/postgres/processes.ts";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { ScramLogin, scramVerifier } from "../../../src/service/postgres/scram.ts";
import { temporaryDiskKiB } from "../../../src/service/postgres/temporary-disk.ts";
import { Turns } from "../../../src/service/postgres/turns.ts";
import { realClock } from "../../support/real-clock.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "compute-operator-pieces-"));
});
afterEach(() => rmSync(home, { recursive: true }));

describe("the settings of a compute", () => {
  test.each([
    "archive_command",
    "restore_command",
    "ssl_passphrase_command",
    "shared_preload_libraries",
    "local_preload_libraries",
    "session_preload_libraries",
    "dynamic_library_path",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "hba_file",
    "ident_file",
    "data_directory",
    "config_file",
    "log_directory",
    "log_filename",
    "password_encryption",
    "max_connections",
    "shared_buffers",
    "primary_conninfo",
    "fsync",
    "full_page_writes",
    "zero_damaged_pages",
    "allow_system_table_mods",
    "krb_server_keyfile",
    "temp_tablespaces",
    "extension_control_path",
    "include",
    // These begin with names of settings that are allowed.
    "jit_provider",
    "search_path_of_mine",
    // Its file would have the content that a client wants.
    "track_commit_timestamp",
  ])("cannot name %s", (name) => {
    expect(forbiddenSetting({ work_mem: "1MB", [name]: "x" })).toBe(name);
  });

  it("may shape queries, also in capitals", () => {
    expect(forbiddenSetting({ work_mem: "1MB", Statement_Timeout: "5s", DateStyle: "ISO" })).toBeUndefined();
  });

  it("cannot undo what the service sets, nor add a line", () => {
    const settings = { work_mem: "1MB'\nfsync = 'off", search_path: "a\\b" };
    const limits = limitsOf({ min: 1, max: 1 });
    const text = configText({
      major: 17,
      limits,
      port: 5,
      sockets: "/s",
      temporaryDiskKiB: 64,
      settings,
      logical: false,
      primary: undefined,
    });
    expect(text.split("\n").slice(0, 2)).toEqual(["work_mem = '1MB''\\nfsync = ''off'", "search_path = 'a\\\\b'"]);
    expect(text).toContain("listen_addresses = ''\n");
    expect(text).toContain("temp_file_limit = '64kB'\n");
  });

  it("follow the size: connections and shared buffers", () => {
    expect(limitsOf({ min: 0.25, max: 2 })).toEqual({ maxConnections: 901, maxWorkerProcesses: 16 });
    expect(sharedBuffersMB(limitsOf({ min: 0.25, max: 0.25 }))).toBe(128);
    expect(sharedBuffersMB(limitsOf({ min: 8, max: 8 }))).toBe(909);
  });
});

it("sizes the disk for temporary files by the largest size, and by the scale", () => {
  const gibibyte = 1024 ** 2;
  expect(temporaryDiskKiB({ min: 0.25, max: 1 }, 1)).toBe(20 * gibibyte);
  expect(temporaryDiskKiB({ min: 0.25, max: 8 }, 1)).toBe(120 * gibibyte);
  expect(temporaryDiskKiB({ min: 8, max: 8 }, 0.5)).toBe(60 * gibibyte);
});

describe("SCRAM", () => {
  it("answers a challenge so that the verifier accepts it", () => {
    const salt = Buffer.from("0123456789abcdef");
    const [, stored = ""] = /\$([^$:]+):[^:]*$/.exec(scramVerifier("secret", salt)) ?? [];
    const login = new ScramLogin({ password: "secret" }, "clientnonce");
    const challenge = `r=clientnonceserver,s=${salt.toString("base64")},i=4096`;
    const [withoutProof = "", proof = ""] = login.final(challenge).split(",p=");
    const salted = pbkdf2Sync("secret", salt, 4096, 32, "sha256");
    const clientKey = createHmac("sha256", salted).update("Client Key").digest();
    const message = `${login.first.slice(3)},${challenge},${withoutProof}`;
    const signature = createHmac("sha256", Buffer.from(stored, "base64")).update(message).digest();
    expect(Buffer.from(proof, "base64")).toEqual(
      Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0))),
    );
  });

  it("carries out no number of iterations that a role has made up", () => {
    const challenge = (rounds: string) => `r=clientnonceserver,s=c2FsdA==,i=${rounds}`;
    for (const rounds of ["20001", "2147483647", "1e9", "many"]) {
      const login = new ScramLogin({ password: "secret" }, "clientnonce");
      expect(() => login.final(challenge(rounds))).toThrow(/set the password again with fewer/);
    }
    const login = new ScramLogin({ clientKey: Buffer.alloc(32) }, "clientnonce");
    expect(login.final(challenge("2147483647"))).toMatch(/^c=biws,/);
  });
});

it("makes a certificate for its names by an authority, which alone may sign", () => {
  const now = Date.UTC(2026, 0, 1);
  const authority = newAuthority(now);
  const { certificate, key } = certificateFor(["localhost", "*.db.test", "127.0.0.1"], authority, now);
  const [root, leaf] = [new X509Certificate(authority.certificate), new X509Certificate(certificate)];
  expect([root.ca, leaf.ca]).toEqual([true, false]);
  expect([leaf.checkIssued(root), leaf.verify(root.publicKey), root.verify(root.publicKey)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(leaf.subjectAltName).toBe("DNS:localhost, DNS:*.db.test, IP Address:127.0.0.1");
  expect([leaf.checkHost("ep-a.db.test"), leaf.checkHost("db.test")]).toEqual(["*.db.test", undefined]);
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(leaf.validToDate.getUTCFullYear()).toBe(2035);
  expect(leaf.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(newAuthority(now).certificate).not.toBe(authority.certificate);
});

it("makes certificates that can be read, however long they are", () => {
  const authority = newAuthority(0);
  for (let length = 1; length <= 63; length += 1) {
    const { certificate } = certificateFor(["a".repeat(length)], authority, 0);
    expect(new X509Certificate(certificate).subjectAltName).toBe(`DNS:${"a".repeat(length)}`);
  }
});

describe("a copy of a directory", () => {
  it("a copy of a directory has files, directories and links, and nothing that is skipped or vanishes", async () => {
    const [from, to] = [join(home, "from"), join(home, "to")];
    mkdirSync(join(from, "a", "b"), { recursive: true });
    for (const name of ["one", "a/two", "a/b/three", "a/skipped"]) writeFileSync(join(from, name), name);
    symlinkSync("one", join(from, "link"));
    await copyTree(from, to, {
      owner: undefined,
      skip: (path) => {
        if (path === "a/two") rmSync(join(from, "a/two"));
        return path === "a/skipped";
      },
    });
    expect(readdirSync(to, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
      "a",
      "a/b",
      "a/b/three",
      "link",
      "one",
    ]);
    expect(readFileSync(join(to, "link"), "utf8")).toBe("one");
  });
});

it("renames so that the disk knows the new name: its directory is synced afterwards", async () => {
  const [from, to] = [join(home, "from"), join(home, "below", "to")];
  mkdirSync(join(home, "below"));
  writeFileSync(from, "");
  const synced: unknown[] = [];
  await renameDurably(from, to, (directory) => Promise.resolve(void synced.push([directory, existsSync(to)])));
  expect(synced).toEqual([[join(home, "below"), true]]);
});

describe("a server that is left over", () => {
  const data = () => home;
  const started = 1_700_000_000;

  /** Processes of which one has these facts until it is signalled. */
  function machine(facts: ProcessFacts | undefined): Processes & { signals: string[] } {
    const signals: string[] = [];
    const unused = () => {
      throw new Error("not used here");
    };
    return {
      signals,
      run: unused,
      runSync: unused,
      guard: unused,
      self: { pid: 1, uid: 1, node: "node" },
      facts: (pid) => Promise.resolve(pid === 42 && signals.length === 0 ? facts : undefined),
      signal: (_, name) => {
        signals.push(name);
      },
    };
  }

  async function signalled(facts: ProcessFacts | undefined, directory = data()): Promise<string[]> {
    writeFileSync(join(home, "postmaster.pid"), `42\n${directory}\n${started}\n`);
    const processes = machine(facts);
    await stopLeftover(home, processes, realClock);
    expect(readdirSync(home)).toEqual([]);
    return processes.signals;
  }

  it("a server that is left over is asked to stop where id, start and directory match", async () => {
    expect(await signalled({ startedAt: started + 1, place: home })).toEqual(["INT"]);
    expect(await signalled({ startedAt: started, place: `/bin/postgres -D ${home}` })).toEqual(["INT"]);
  });

  it("a server is left alone where its id was given to another process", async () => {
    expect(await signalled({ startedAt: started + 60, place: home })).toEqual([]);
    expect(await signalled({ startedAt: started, place: "/elsewhere" })).toEqual([]);
    expect(await signalled({ startedAt: started, place: home }, "/elsewhere")).toEqual([]);
    expect(await signalled(undefined)).toEqual([]);
  });
});

it("gives turns one after another, whether they succeed or not", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const slow = turns.take("a", async () => {
    await Promise.resolve();
    seen.push("first");
    throw new Error("no");
  });
  const next = turns.take("a", () => Promise.resolve(seen.push("second")));
  const other = turns.take("b", () => Promise.resolve(seen.push("other")));
  await expect(slow).rejects.toThrow("no");
  await Promise.all([next, other]);
  expect(seen.filter((one) => one !== "other")).toEqual(["first", "second"]);
});

it("opens sessions in servers in two places only: those of the service, and those of a client's own role", () => {
  const root = join(import.meta.dirname, "..", "..", "..");
  const opening = globSync("src/service/**/*.ts", { cwd: root }).filter((file) =>
    readFileSync(join(root, file), "utf8").includes("SqlClient.connect("),
  );
  expect(opening.toSorted()).toEqual([
    "src/service/postgres/driver/sql-over-http.ts",
    "src/service/postgres/service-sessions.ts",
  ]);
});
