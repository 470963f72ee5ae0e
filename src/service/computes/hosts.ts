import type { ServiceOptions } from "../options.ts";

/** The domain of all computes, unless the service has one of its own. */
const publicDomain = "neon.tech";

type Domain = Pick<ServiceOptions, "domain">;

/** The service's own domain, or the vendor's: `aws-us-east-2` → `us-east-2.aws.neon.tech`, region first, then cloud. */
export function proxyHost({ domain }: Domain, regionId: string): string {
  if (domain !== undefined) return domain;
  const [cloud, ...region] = regionId.split("-");
  return `${region.join("-")}.${cloud}.${publicDomain}`;
}

export function endpointHost(options: Domain, endpointId: string, regionId: string): string {
  return `${endpointId}.${proxyHost(options, regionId)}`;
}

/** The host of the connection pooler: the endpoint's id with `-pooler`. */
export function poolerHost(options: Domain, endpointId: string, regionId: string): string {
  return endpointHost(options, `${endpointId}-pooler`, regionId);
}
