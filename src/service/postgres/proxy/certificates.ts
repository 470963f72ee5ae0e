import { readFile, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { unlessGone } from "../host/each-file.ts";
import { writePrivate } from "../host/private-file.ts";
import { type Certificate, certificateFor, newAuthority } from "./certificate.ts";

/** The proxy's certificate, and the file of the authority that clients trust. */
export interface ServedCertificate {
  certificate: Certificate;
  authorityFile: string;
}

/** The authority's place: beside the store's file, or in the directory of a service that keeps nothing. */
export function authorityPath(data: string, root: string): string {
  return data === ":memory:" ? join(root, "authority") : resolve(`${data}.authority`);
}

/**
 * Makes the certificate of this run by the authority of earlier runs, which is made where there is none: clients keep
 * trusting the service over restarts and changes of names.
 */
export async function certificateBy(path: string, names: readonly string[]): Promise<ServedCertificate> {
  const files = { certificate: `${path}.crt`, key: `${path}.key` };
  // A file is empty where the machine lost its power soon after it was made.
  const read = async (file: string) => (await readFile(file, "utf8").catch(unlessGone)) || undefined;
  const [certificate, key] = [await read(files.certificate), await read(files.key)];
  let authority = certificate !== undefined && key !== undefined ? { certificate, key } : undefined;
  if (authority === undefined) {
    authority = newAuthority();
    await writePrivate(files.key, authority.key, undefined);
    await writeFile(files.certificate, authority.certificate, { mode: 0o644 });
  }
  return { certificate: certificateFor(names, authority), authorityFile: files.certificate };
}

/** The names under which clients may reach the proxy. Certificates hold no IPv6 addresses here. */
export function servedNames(domain: string | undefined, address: string): string[] {
  const own = isIP(address) === 6 ? [] : [address];
  const ofDomain = domain === undefined ? [] : [domain, `*.${domain}`];
  return [...new Set(["localhost", "*.localhost", "127.0.0.1", ...own, ...ofDomain])];
}
