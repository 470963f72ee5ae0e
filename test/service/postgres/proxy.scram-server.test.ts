import { describe, expect, it, test } from "vitest";
import { ScramServer } from "../../../src/service/postgres/proxy/scram-server.ts";
import {
  parseVerifier,
  ScramLogin,
  scramVerifier,
  unfitVerifier,
} from "../../../src/service/postgres/session/scram.ts";

const salt = Buffer.from("0123456789abcdef");
const verifier = parseVerifier(await scramVerifier("secret", salt)) ?? unfitVerifier("", "");
const certificate = Buffer.alloc(32, 7);
const base64 = (text: string, binding = Buffer.alloc(0)) =>
  Buffer.concat([Buffer.from(text), binding]).toString("base64");

/** A client that binds its login, or says that it could: the header is its own. */
async function attempt(
  server: ScramServer,
  mechanism: string,
  header: string,
  binding = Buffer.alloc(0),
  password = "secret",
) {
  const login = new ScramLogin({ password }, "clientnonce");
  const bare = login.first.slice("n,,".length);
  const challenge = server.challenge(mechanism, `${header}${bare}`);
  // The client's own class binds nothing: what it signs is put in place of `biws`.
  return server.finish(await login.final(challenge, base64(header, binding)));
}

describe("the proxy's side of SCRAM", () => {
  it("takes a password that fits, and recovers the key with which it logs in itself", async () => {
    const proven = await attempt(new ScramServer(verifier, "ours", undefined), "SCRAM-SHA-256", "n,,");
    const challenge = `r=aournonce,s=${salt.toString("base64")},i=4096`;
    const byKey = await new ScramLogin({ clientKey: proven?.clientKey ?? Buffer.alloc(32) }, "a").final(challenge);
    expect(byKey).toBe(await new ScramLogin({ password: "secret" }, "a").final(challenge));
    expect(proven?.last).toMatch(/^v=[\w+/]{43}=$/);
  });

  it("takes a login that is bound to the certificate of its channel", async () => {
    const server = new ScramServer(verifier, "ours", certificate);
    expect(server.mechanisms).toEqual(["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]);
    expect(await attempt(server, "SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,", certificate)).toBeDefined();
  });

  it("refuses a login that is bound to another certificate", async () => {
    const server = new ScramServer(verifier, "ours", certificate);
    await expect(
      attempt(server, "SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,", Buffer.alloc(32, 8)),
    ).rejects.toThrow("SCRAM channel binding check failed");
  });

  it("refuses a client that was kept from seeing that it could bind its login", async () => {
    const server = new ScramServer(verifier, "ours", certificate);
    await expect(attempt(server, "SCRAM-SHA-256", "y,,")).rejects.toThrow(/SCRAM channel binding negotiation error/);
    expect(await attempt(new ScramServer(verifier, "ours", undefined), "SCRAM-SHA-256", "y,,")).toBeDefined();
  });

  it("refuses a binding that was put in after the client's first message", async () => {
    const server = new ScramServer(verifier, "ours", undefined);
    const login = new ScramLogin({ password: "secret" }, "clientnonce");
    const challenge = server.challenge("SCRAM-SHA-256", login.first);
    const final = await login.final(challenge, base64("y,,"));
    expect(() => server.finish(final)).toThrow("SCRAM channel binding check failed");
  });

  it("refuses another password, and every password of a role that is not there", async () => {
    expect(
      await attempt(new ScramServer(verifier, "ours", undefined), "SCRAM-SHA-256", "n,,", undefined, "other"),
    ).toBe(undefined);
    const nobody = unfitVerifier("own", "ghost");
    expect(await attempt(new ScramServer(nobody, "ours", undefined), "SCRAM-SHA-256", "n,,")).toBe(undefined);
    expect(unfitVerifier("own", "ghost")).toEqual(nobody);
    expect(unfitVerifier("own", "other").salt).not.toEqual(nobody.salt);
  });

  test.each([
    ["SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=a", /invalid SASL authentication mechanism/],
    ["PLAIN", "n,,n=,r=a", /invalid SASL authentication mechanism/],
    ["SCRAM-SHA-256", "p=tls-server-end-point,,n=,r=a", /malformed/],
    ["SCRAM-SHA-256", "n,a=boss,n=,r=a", /malformed/],
    ["SCRAM-SHA-256", "n,,m=ext,n=,r=a", /malformed/],
    ["SCRAM-SHA-256", "n,,n=,r=", /malformed/],
    ["SCRAM-SHA-256", "", /malformed/],
  ])("refuses %s with %j", (mechanism, first, message) => {
    expect(() => new ScramServer(verifier, "ours", undefined).challenge(mechanism, first)).toThrow(message);
  });

  it("refuses another type of binding, and a binding without its mechanism", async () => {
    const server = () => new ScramServer(verifier, "ours", certificate);
    expect(() => server().challenge("SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=a")).toThrow(/channel-binding type/);
    expect(() => server().challenge("SCRAM-SHA-256-PLUS", "n,,n=,r=a")).toThrow(/malformed/);
  });

  it("refuses another nonce, a proof that is none, and a proof before the challenge", async () => {
    const server = new ScramServer(verifier, "ours", undefined);
    const proof = Buffer.alloc(32).toString("base64");
    expect(() => server.finish(`c=biws,r=aours,p=${proof}`)).toThrow(/malformed/);
    server.challenge("SCRAM-SHA-256", "n,,n=,r=a");
    expect(() => server.finish(`c=biws,r=a,p=${proof}`)).toThrow(/malformed/);
    expect(() => server.finish("c=biws,r=aours,p=AAAA")).toThrow(/malformed/);
    expect(server.finish(`c=biws,r=aours,p=${proof}`)).toBe(undefined);
  });
});

const key = Buffer.alloc(32).toString("base64");
test.each([
  null,
  undefined,
  "",
  "md5d1d2",
  `SCRAM-SHA-256$4096:AAAA$AAAA:${key}`,
  `SCRAM-SHA-256$4096:AAAA$${key}:AAAA`,
  `SCRAM-SHA-256$x:AAAA$${key}:${key}`,
])("takes %j for no verifier", (text) => {
  expect(parseVerifier(text)).toBe(undefined);
});
