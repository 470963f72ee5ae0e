import { createSign, generateKeyPairSync, randomBytes } from "node:crypto";

/** A certificate and its key, in PEM. */
export interface Certificate {
  certificate: string;
  key: string;
}

const oids = {
  commonName: [0x55, 0x04, 0x03],
  subjectAltName: [0x55, 0x1d, 0x11],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
} as const;

const day = 24 * 3_600_000;

/** Makes a certificate that signs itself, for ten years and these DNS names. */
export function selfSigned(names: readonly string[], now: number): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(der(0x06, Buffer.from(oids.ecdsaWithSha256)));
  const commonName = sequence(der(0x06, Buffer.from(oids.commonName)), der(0x0c, Buffer.from("compute-operator")));
  const name = sequence(der(0x31, commonName));
  const alternatives = sequence(...names.map((one) => der(0x82, Buffer.from(one, "ascii"))));
  const extension = sequence(der(0x06, Buffer.from(oids.subjectAltName)), der(0x04, alternatives));
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name,
    sequence(time(now - day), time(now + 3650 * day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const signature = createSign("sha256").update(body).sign(privateKey);
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString("base64").replaceAll(/.{64}/g, "$&\n");
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
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
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(0x18, Buffer.from(text, "ascii"));
}
