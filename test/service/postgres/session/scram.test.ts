import { createHmac, pbkdf2Sync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseVerifier, ScramLogin, scramVerifier } from "../../../../src/service/postgres/session/scram.ts";

describe("SCRAM", () => {
  it("answers a challenge so that the verifier accepts it", async () => {
    const salt = Buffer.from("0123456789abcdef");
    const [, stored = ""] = /\$([^$:]+):[^:]*$/.exec(await scramVerifier("secret", salt)) ?? [];
    const login = new ScramLogin({ password: "secret" }, "clientnonce");
    const challenge = `r=clientnonceserver,s=${salt.toString("base64")},i=4096`;
    const [withoutProof = "", proof = ""] = (await login.final(challenge)).split(",p=");
    const salted = pbkdf2Sync("secret", salt, 4096, 32, "sha256");
    const clientKey = createHmac("sha256", salted).update("Client Key").digest();
    const message = `${login.first.slice(3)},${challenge},${withoutProof}`;
    const signature = createHmac("sha256", Buffer.from(stored, "base64")).update(message).digest();
    expect(Buffer.from(proof, "base64")).toEqual(
      Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0))),
    );
  });

  it("carries out no number of iterations that a role has made up", async () => {
    const challenge = (rounds: string) => `r=clientnonceserver,s=c2FsdA==,i=${rounds}`;
    for (const rounds of ["20001", "2147483647", "1e9", "many"]) {
      const login = new ScramLogin({ password: "secret" }, "clientnonce");
      await expect(login.final(challenge(rounds))).rejects.toThrow(/set the password again with fewer/);
    }
    const login = new ScramLogin({ clientKey: Buffer.alloc(32) }, "clientnonce");
    expect(await login.final(challenge("2147483647"))).toMatch(/^c=biws,/);
  });

  it("takes a verifier for none one of whose keys has another length than a hash", async () => {
    const [keyed = "", server = ""] = (await scramVerifier("secret")).split(/:(?=[^:]*$)/);
    const [salted = ""] = keyed.split(/\$(?=[^$]*$)/);
    const short = Buffer.alloc(16).toString("base64");
    expect(parseVerifier(`${keyed}:${server}`)).toBeDefined();
    for (const text of [`${keyed}:${short}`, `${salted}$${short}:${server}`])
      expect(parseVerifier(text)).toBeUndefined();
  });

  it.each(["a login", "a verifier"])("lets others go on while it works out a password for %s", async (what) => {
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    const login = new ScramLogin({ password: "secret" }, "clientnonce");
    await (what === "a login"
      ? login.final("r=clientnonceserver,s=c2FsdA==,i=20000")
      : scramVerifier("secret", Buffer.alloc(16)));
    expect(turned).toBe(true);
  });
});
