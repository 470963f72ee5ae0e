/** The domain of all computes. */
const domain = "neon.tech";

/** `aws-us-east-2` → `us-east-2.aws.neon.tech`: region first, then cloud. */
export function proxyHost(regionId: string): string {
  const [cloud, ...region] = regionId.split("-");
  return `${region.join("-")}.${cloud}.${domain}`;
}

export function endpointHost(endpointId: string, regionId: string): string {
  return `${endpointId}.${proxyHost(regionId)}`;
}

/** The host of the connection pooler: the endpoint's id with `-pooler`. */
export function poolerHost(endpointId: string, regionId: string): string {
  return `${endpointId}-pooler.${proxyHost(regionId)}`;
}
