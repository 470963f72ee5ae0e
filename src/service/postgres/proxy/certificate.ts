import { createPrivateKey, createPublicKey, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import { isIPv4 } from "node:net";
import { sha256 } from "../session/scram.ts";

/** A certificate and its key, in PEM. */
export interface Certificate {
  certificate: string;
  key: string;
}

const oids = {
  commonName: "550403",
  subjectAltName: "551d11",
  basicConstraints: "551d13",
  keyUsage: "551d0f",
  extendedKeyUsage: "551d25",
  serverAuth: "2b06010505070301",
  subjectKeyIdentifier: "551d0e",
  authorityKeyIdentifier: "551d23",
  ecdsaWithSha256: "2a8648ce3d040302",
} as const;

/** The time in which certificates hold: for ever (RFC 5280, 4.1.2.5), whatever the machine's clock says then. */
const validity = { from: "20000101000000Z", to: "99991231235959Z" } as const;

/** Key usages as bit strings. */
const usages = { signCertificates: "0106", signHandshakes: "0780" } as const;

/** Makes an authority, which signs itself. */
export function newAuthority(): Certificate {
  return signed(undefined, [
    extension("basicConstraints", sequence(der(0x01, Buffer.from([0xff]))), "critical"),
    extension("keyUsage", der(0x03, Buffer.from(usages.signCertificates, "hex")), "critical"),
  ]);
}

/** Makes a server's certificate by an authority, for these DNS names and IPv4 addresses. */
export function certificateFor(names: readonly string[], authority: Certificate): Certificate {
  return signed(authority.key, [
    extension("basicConstraints", sequence(), "critical"),
    extension("keyUsage", der(0x03, Buffer.from(usages.signHandshakes, "hex")), "critical"),
    extension("extendedKeyUsage", sequence(oid("serverAuth"))),
    extension("subjectAltName", sequence(...names.map(alternative))),
    extension("authorityKeyIdentifier", sequence(der(0x80, keyId(publicKeyOf(authority.key))))),
  ]);
}

/** Makes a key and its certificate, signed by the issuer's key or by its own. */
function signed(issuer: string | undefined, extensions: readonly Buffer[]): Certificate {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const issuerKey = issuer ?? key;
  const algorithm = sequence(oid("ecdsaWithSha256"));
  const subject = publicKeyOf(key);
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    nameOf(publicKeyOf(issuerKey)),
    sequence(time(validity.from), time(validity.to)),
    nameOf(subject),
    subject,
    der(0xa3, sequence(...extensions, extension("subjectKeyIdentifier", der(0x04, keyId(subject))))),
  );
  const signature = createSign("sha256").update(body).sign(createPrivateKey(issuerKey));
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString("base64").replaceAll(/.{64}(?!$)/g, "$&\n");
  return { certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, key };
}

function publicKeyOf(key: string): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function keyId(publicKey: Buffer): Buffer {
  return sha256(publicKey).subarray(0, 20);
}

/** A name of its own for each key: a client may trust the authorities of several services. */
function nameOf(publicKey: Buffer): Buffer {
  const text = `compute-operator ${keyId(publicKey).toString("hex").slice(0, 12)}`;
  return sequence(der(0x31, sequence(oid("commonName"), der(0x0c, Buffer.from(text)))));
}

function extension(name: keyof typeof oids, value: Buffer, critical?: "critical"): Buffer {
  return sequence(oid(name), ...(critical ? [der(0x01, Buffer.from([0xff]))] : []), der(0x04, value));
}

/** A DNS name, or the IPv4 address of a machine. */
function alternative(name: string): Buffer {
  if (!isIPv4(name)) return der(0x82, Buffer.from(name, "ascii"));
  return der(0x87, Buffer.from(name.split(".").map(Number)));
}

function oid(name: keyof typeof oids): Buffer {
  return der(0x06, Buffer.from(oids[name], "hex"));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** One value of DER: tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const length = content.length;
  const bytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

/** GeneralizedTime, which knows years after 2049. */
function time(text: string): Buffer {
  return der(0x18, Buffer.from(text, "ascii"));
}
