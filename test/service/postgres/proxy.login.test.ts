import { duplexPair } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { askPassword, authenticate, keyOf, logIn } from "../../../src/service/postgres/proxy/login.ts";
import { message } from "../../../src/service/postgres/session/messages.ts";
import { Rejection } from "../../../src/service/postgres/session/rejection.ts";
import { parseVerifier, scramVerifier, unfitVerifier } from "../../../src/service/postgres/session/scram.ts";

const verifier = parseVerifier(await scramVerifier("secret", Buffer.from("0123456789abcdef"))) ?? unfitVerifier("", "");
const claim = { role: "app", verifier, binding: undefined };

/** The messages of a client that the proxy has received before it asks. */
const sent = (...messages: readonly Buffer[]) => Buffer.concat(messages);

/** What is said to a client that is refused. */
async function refusal(refused: Promise<unknown>): Promise<string> {
  const error = await refused.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Rejection)) throw new Error(`no refusal: ${String(error)}`);
  return `${error.sqlState} ${error.message}`;
}

describe("the login of a client", () => {
  const [one] = duplexPair();

  it("a password in clear is taken without its end, and what follows it stays", async () => {
    const asked = await askPassword(one, sent(message("p", "secret\0"), Buffer.from("more")));
    expect([asked.password, String(asked.rest)]).toEqual(["secret", "more"]);
    expect(await refusal(askPassword(one, message("Q", "secret\0")))).toBe("08P01 expected a password");
  });

  it("the key of a password in clear is that of the role's, and a wrong one has none", async () => {
    const alone = <Result>(act: () => Promise<Result>) => act();
    const admission = { inTurn: alone, alone, verifierOf: async () => verifier };
    const of = (password: string) => keyOf({ password, role: "app", isGone: () => false }, admission);
    expect((await of("secret")).length).toBe(32);
    expect(await refusal(of("wrong"))).toBe('28P01 password authentication failed for user "app"');
  });

  it("a password is hashed alone, and the server of its compute is asked before that", async () => {
    const done: string[] = [];
    const admission = {
      inTurn: <Result>(check: () => Promise<Result>) => check(),
      alone: async <Result>(hash: () => Promise<Result>) => {
        done.push("begin");
        const key = await hash();
        done.push("end");
        return key;
      },
      verifierOf: async () => {
        done.push("ask");
        return verifier;
      },
    };
    await keyOf({ password: "secret", role: "app", isGone: () => false }, admission);
    expect(done).toEqual(["ask", "begin", "end"]);
  });

  it("a client that leaves before the turn of its password has it checked no more", async () => {
    let asked = 0;
    let isGone = false;
    const admission = {
      inTurn: <Result>(check: () => Promise<Result>) => {
        isGone = true;
        return check();
      },
      alone: <Result>(hash: () => Promise<Result>) => hash(),
      verifierOf: async () => {
        asked += 1;
        return verifier;
      },
    };
    const checked = keyOf({ password: "secret", role: "app", isGone: () => isGone }, admission);
    expect([await refusal(checked), asked]).toEqual(["08006 the connection was closed", 0]);
  });

  it.each([
    ["of another kind", message("Q", "SCRAM-SHA-256\0\0\0\0\x01x"), "expected a SASL response"],
    ["without the end of its name", message("p", "SCRAM-SHA-256"), "malformed SASL response"],
    ["without its length", message("p", "SCRAM-SHA-256\0\0\0\0"), "malformed SASL response"],
    ["that is empty", message("p", ""), "malformed SASL response"],
  ])("a first answer %s is refused", async (_, first, why) => {
    expect(await refusal(authenticate(one, first, claim))).toBe(`08P01 ${why}`);
  });

  it("a client that proves its password is asked for it, challenged, and given the service's own proof", async () => {
    const [client, proxy] = duplexPair();
    const write = vi.spyOn(proxy, "write");
    const login = logIn(client, { password: "secret" });
    const { secret } = await authenticate(proxy, Buffer.alloc(0), claim);
    proxy.write(message("R", "\0\0\0\0"));
    expect(String(await login)).toBe(String(message("R", "\0\0\0\0")));
    expect(write.mock.calls.map(([said]) => Buffer.from(said).readUInt32BE(5))).toEqual([10, 11, 12, 0]);
    expect("clientKey" in secret && secret.clientKey.length).toBe(32);
  });

  it("a client that proves another password is refused, and told for which role", async () => {
    const [client, proxy] = duplexPair();
    const login = logIn(client, { password: "wrong" }).catch(String);
    expect(await refusal(authenticate(proxy, Buffer.alloc(0), claim))).toBe(
      '28P01 password authentication failed for user "app"',
    );
    client.destroy();
    await login;
  });

  it("an answer without a name is that of a mechanism which nobody offers", async () => {
    expect(await refusal(authenticate(one, message("p", "\0\0\0\0\x01x"), claim))).not.toContain("malformed");
  });
});

describe("the login to a server in place of a client", () => {
  /** What the client is told by a server that says this. */
  async function told(...said: readonly Buffer[]): Promise<string> {
    const [proxy, server] = duplexPair();
    server.write(sent(...said));
    return String(await logIn(proxy, { password: "secret" }));
  }

  it("the client is told what a server says that asks for no login, from its first word on", async () => {
    const ok = message("R", "\0\0\0\0");
    expect(await told(ok, message("Z", "I"))).toBe(String(sent(ok, message("Z", "I"))));
    for (const short of [message("Z", "I"), message("N", ""), message("R", "\0\0"), message("E", "\0\0\0\x0a")])
      expect(await told(short)).toBe(String(short));
  });

  it("the version that the server speaks comes before all else, as the server said it", async () => {
    const [version, refused] = [message("v", "\0\0\0\0\0\0\0\0"), message("E", "C28000\0\0")];
    expect(await told(version, refused)).toBe(String(sent(version, refused)));
  });

  it("the client is told why, where the server has no process for it", async () => {
    const said = Buffer.from("Ecould not fork new process for connection: Resource temporarily unavailable\n\0");
    const why = "could not fork new process for connection: Resource temporarily unavailable";
    expect(await refusal(told(said))).toBe(`53000 ${why}`);
    expect(await refusal(told(message("E", "x".repeat(70_000))))).toBe("08P01 invalid length of a message");
  });

  it("a server gets the first message of the login as soon as it asks for one", async () => {
    const [proxy, server] = duplexPair();
    server.write(message("R", "\0\0\0\x0aSCRAM-SHA-256\0\0"));
    const first = new Promise<Buffer>((resolve) => server.once("data", resolve));
    const login = logIn(proxy, { password: "secret" });
    expect(String(await first)).toContain("SCRAM-SHA-256");
    server.write(message("E", "C28P01\0\0"));
    expect(String(await login)).toContain("28P01");
  });
});
