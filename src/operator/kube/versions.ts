const comparable = /^[1-9]\d*$/;

/**
 * Whether one version of a resource is newer than another. kube-apiserver's versions are integers that only grow, per
 * resource and for custom resources too (KEP-5504); `undefined` if either is anything else.
 */
export function isNewer(version: string, than: string): boolean | undefined {
  if (version === than) return false;
  if (!comparable.test(version) || !comparable.test(than)) return undefined;
  return version.length === than.length ? version > than : version.length > than.length;
}
