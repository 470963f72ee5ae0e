import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../support/guardian.ts";
import { answerAfterKeyChanges } from "../support/key-changes.ts";
import { Running } from "./support/running.ts";

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("tls");
});
afterEach(() => directory.remove());

/** Asks over TLS, as a client that trusts only this authority and finds the host on this machine. */
function get(
  url: string,
  ca: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; cookie: string | undefined }> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      path: pathname,
      servername: hostname,
      ca,
      headers: { host: hostname, ...headers },
    };
    const asked = request(options, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      const { statusCode: status = 0, headers: given } = answer;
      const cookie = given["set-cookie"]?.join();
      answer.on("end", () => resolve({ status, text: Buffer.concat(pieces).toString(), cookie }));
    });
    asked.on("error", reject).end();
  });
}

async function started(data: string) {
  const running = new Running("--port", "0", "--domain", "db.test", "--api-tls", "--data", data);
  const line = (pattern: RegExp) => running.out.map((text) => pattern.exec(text)?.[1]).find(Boolean) ?? "";
  while (line(/^(Certificate authority: )/) === "" && running.err.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const ca = readFileSync(line(/^Certificate authority: (.+)$/), "utf8");
  return { running, ca, baseURL: line(/^Listening on (.+)$/), key: line(/^API key \(shown once\): (\S+)$/) };
}

describe("--api-tls", () => {
  it("serves the API on https://api.NAME with a certificate by the authority beside the data, kept over restarts", async () => {
    const data = join(directory.path, "service.sqlite");
    const first = await started(data);
    expect(first.baseURL).toMatch(/^https:\/\/api\.db\.test:\d+\/api\/v2$/);
    const headers = { authorization: `Bearer ${first.key}` };
    const listed = await get(`${first.baseURL}/projects`, first.ca, headers);
    expect([listed.status, listed.text]).toEqual([200, expect.stringContaining("first-project")]);
    expect(await first.running.stop()).toBe(0);
    const second = await started(data);
    expect(second.ca).toBe(first.ca);
    expect((await get(`${second.baseURL}/projects`, first.ca, headers)).status).toBe(200);
    const page = await get(second.baseURL.replace("/api/v2", "/"), second.ca);
    expect(page.cookie).toMatch(/^__Host-compute_console=.*; Secure$/);
    await expect(get(second.baseURL.replace("api.db.test", "api.other.test"), second.ca)).rejects.toThrow(
      "does not match certificate",
    );
    const plain = fetch(second.baseURL.replace("https://api.db.test", "http://127.0.0.1"));
    await expect(plain).rejects.toThrow("fetch failed");
    expect(await second.running.stop()).toBe(0);
  });

  it("a stranger gets one TLS handshake of a connection, and no further ones, each of which costs more than it", async () => {
    const { running, ca, baseURL } = await started(join(directory.path, "service.sqlite"));
    const { hostname: servername, port } = new URL(baseURL);
    const socket = connect({ host: "127.0.0.1", port: Number(port), servername, ca, maxVersion: "TLSv1.2" });
    await once(socket, "secureConnect");
    const renegotiated = new Promise((resolve) => {
      socket.once("error", () => resolve(false)).once("close", () => resolve(false));
      socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null));
    });
    expect([socket.getProtocol(), await renegotiated]).toEqual(["TLSv1.2", false]);
    socket.destroy();
    expect(await running.stop()).toBe(0);
  });

  it("a stranger that changes its key of TLS more often than any client does is sent away", async () => {
    const { running, baseURL } = await started(join(directory.path, "service.sqlite"));
    const { hostname, port } = new URL(baseURL);
    const said = Buffer.from(`GET /healthz HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
    const answer = (changes: number) =>
      answerAfterKeyChanges(connectTcp({ port: Number(port), host: "127.0.0.1" }), hostname, { changes, said });
    expect([await answer(20), await answer(21)]).toEqual([expect.stringContaining("HTTP/1.1 200 OK"), ""]);
    expect(await running.stop()).toBe(0);
  });

  it.each([
    [["--api-tls"], "--api-tls needs --domain"],
    [["--api-tls", "--domain", "db.test"], "--api-tls needs --data"],
  ])("the flags %j are refused with what is missing", async (args, message) => {
    const running = new Running(...args);
    expect(await running.status).toBe(1);
    expect(running.err[0]).toContain(message);
  });
});
