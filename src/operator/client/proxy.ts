/** The proxies that the usual environment variables name, in either case. */
export function proxyOf(env: Readonly<Record<string, string | undefined>>): {
  http?: string;
  https?: string;
  none?: string;
} {
  const first = (...names: string[]) =>
    names.map((name) => env[name]).find((value) => value !== undefined && value !== "");
  const http = first("HTTP_PROXY", "http_proxy");
  const https = first("HTTPS_PROXY", "https_proxy");
  const none = first("NO_PROXY", "no_proxy");
  return {
    ...(http === undefined ? {} : { http }),
    ...(https === undefined ? {} : { https }),
    ...(none === undefined ? {} : { none }),
  };
}
