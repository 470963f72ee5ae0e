/** The domain under which every compute is reached. */
const domain = "neon.tech";

/** `aws-us-east-2` → `us-east-2.aws.neon.tech`: region first, then cloud. */
export function proxyHost(regionId: string): string {
  const [cloud, ...region] = regionId.split("-");
  return `${region.join("-")}.${cloud}.${domain}`;
}

export function endpointHost(endpointId: string, regionId: string): string {
  return `${endpointId}.${proxyHost(regionId)}`;
}

/** The host of the connection pooler: `-pooler` follows the endpoint's id. */
export function poolerHost(endpointId: string, regionId: string): string {
  return `${endpointId}-pooler.${proxyHost(regionId)}`;
}
