import { describe, expect, it } from "vitest";
import { accessTexts, configText, limitsOf, sharedBuffersMB } from "../../../src/service/postgres/config.ts";

describe("the access rules of a server", () => {
  it("let our own role in where the system vouches for the user, and others with a password", () => {
    expect(accessTexts(["root", "nobody"])).toEqual({
      access:
        "local all cloud_admin peer map=own\nlocal replication cloud_admin peer map=own\nlocal all all scram-sha-256\n",
      identities: 'own "root" cloud_admin\nown "nobody" cloud_admin\n',
    });
    expect(accessTexts(["nobody", "nobody"]).identities).toBe('own "nobody" cloud_admin\n');
  });

  it("leave it to the socket's directory where a user has no name, for our own role alone", () => {
    const { access, identities } = accessTexts(undefined);
    expect(access.split("\n")).toEqual([
      "local all cloud_admin trust",
      "local replication cloud_admin trust",
      "local all all scram-sha-256",
      "",
    ]);
    expect(identities).toBe("");
  });
});

describe("the settings of a compute", () => {
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
    expect(limitsOf({ min: 0.25, max: 2 })).toEqual({ maxConnections: 901, maxWorkerProcesses: 16, maxLocks: 64 });
    const locks = (value: string) =>
      limitsOf({ min: 1, max: 1 }, undefined, { Max_Locks_Per_Transaction: value }).maxLocks;
    expect([locks("256"), locks("0x40"), locks("much")]).toEqual([256, 64, 64]);
    expect(sharedBuffersMB(limitsOf({ min: 0.25, max: 0.25 }))).toBe(128);
    expect(sharedBuffersMB(limitsOf({ min: 8, max: 8 }))).toBe(909);
  });
});
