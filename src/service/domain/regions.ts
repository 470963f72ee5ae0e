/** Regions as the public API lists them. A project may name another region of this form: nothing depends on it. */
export const regions = [
  region("aws-us-east-1", "AWS US East 1 (N. Virginia)", "38.13", "-78.45"),
  region("aws-us-east-2", "AWS US East 2 (Ohio)", "40.36", "-82.99", true),
  region("aws-us-west-2", "AWS US West 2 (Oregon)", "46.15", "-123.88"),
  region("aws-eu-central-1", "AWS Europe Central 1 (Frankfurt)", "50.12", "8.68"),
  region("aws-eu-west-2", "AWS Europe West 2 (London)", "51.51", "-0.13"),
  region("aws-ap-southeast-1", "AWS Asia Pacific 1 (Singapore)", "1.37", "103.80"),
  region("aws-ap-southeast-2", "AWS Asia Pacific 2 (Sydney)", "-33.86", "151.20"),
  region("aws-sa-east-1", "AWS South America East 1 (São Paulo)", "-23.54", "-46.63"),
  region("azure-eastus2", "Azure East US 2 (Virginia)", "36.67", "-78.39"),
  region("azure-gwc", "Azure Germany West Central (Frankfurt)", "50.11", "8.68"),
  region("azure-westus3", "Azure West US 3 (Arizona)", "33.45", "-112.07"),
] as const;

function region(region_id: string, name: string, geo_lat: string, geo_long: string, isDefault = false) {
  return { region_id, name, default: isDefault, geo_lat, geo_long };
}
