/**
 * Written by hand, from the rules of keys: the status that each key gets on each route about what is within its reach.
 * What belongs to somebody else, or does not exist, is 404 to every key.
 *
 * A personal key reaches what its user reaches; an organization key has an administrator's rights to all of the
 * organization, and is not for calls about a user; a project-scoped key has a member's rights to its project, may not
 * delete it, create none, and act on no organization.
 */
const table = `
# The personal key of an administrator, that of a member, an organization's key, a project-scoped one:
GET /auth                                                                            200  200  200  200
GET /users/me                                                                        200  200  404  404
GET /users/me/organizations                                                          200  200  200  200
GET /regions                                                                         200  200  200  200
GET /organizations/{org_id}                                                          200  200  200  404
POST /organizations/{org_id}/projects/transfer                                       200  403  404  404
POST /users/me/projects/transfer                                                     200  200  404  404
GET /api_keys                                                                        200  200  404  404
POST /api_keys                                                                       200  200  404  404
DELETE /api_keys/{key_id}                                                            200  200  404  404
GET /organizations/{org_id}/api_keys                                                 200  200  200  404
POST /organizations/{org_id}/api_keys                                                200  403  404  404
DELETE /organizations/{org_id}/api_keys/{key_id}                                     200  403  200  404
GET /organizations/{org_id}/members                                                  200  200  200  404
GET /organizations/{org_id}/members/{member_id}                                      200  200  200  404
GET /organizations/{org_id}/invitations                                              200  200  200  404
PATCH /organizations/{org_id}/members/{member_id}                                    200  403  200  404
DELETE /organizations/{org_id}/members/{member_id}                                   200  403  200  404
GET /projects/{project_id}/members                                                   200  200  200  200
GET /projects                                                                        200  200  200  200
POST /projects                                                                       201  201  201  404
GET /projects/shared                                                                 200  200  200  200
GET /projects/{project_id}                                                           200  200  200  200
PATCH /projects/{project_id}                                                         200  200  200  200
DELETE /projects/{project_id}                                                        200  403  200  403
GET /projects/{project_id}/permissions                                               200  200  200  200
GET /projects/{project_id}/connection_uri                                            200  200  200  200
GET /projects/{project_id}/branches                                                  200  200  200  200
GET /projects/{project_id}/branches/count                                            200  200  200  200
POST /projects/{project_id}/branches                                                 201  201  201  201
GET /projects/{project_id}/branches/{branch_id}                                      200  200  200  200
PATCH /projects/{project_id}/branches/{branch_id}                                    200  200  200  200
DELETE /projects/{project_id}/branches/{branch_id}                                   200  200  200  200
POST /projects/{project_id}/branches/{branch_id}/recover                             200  200  200  200
POST /projects/{project_id}/branches/{branch_id}/set_as_default                      200  200  200  200
POST /projects/{project_id}/branches/{branch_id}/restore                             200  200  200  200
GET /projects/{project_id}/branches/{branch_id}/roles                                200  200  200  200
POST /projects/{project_id}/branches/{branch_id}/roles                               201  201  201  201
GET /projects/{project_id}/branches/{branch_id}/roles/{role_name}                    200  200  200  200
DELETE /projects/{project_id}/branches/{branch_id}/roles/{role_name}                 200  200  200  200
GET /projects/{project_id}/branches/{branch_id}/roles/{role_name}/reveal_password    200  200  200  200
POST /projects/{project_id}/branches/{branch_id}/roles/{role_name}/reset_password    200  200  200  200
GET /projects/{project_id}/branches/{branch_id}/databases                            200  200  200  200
POST /projects/{project_id}/branches/{branch_id}/databases                           201  201  201  201
GET /projects/{project_id}/branches/{branch_id}/databases/{database_name}            200  200  200  200
PATCH /projects/{project_id}/branches/{branch_id}/databases/{database_name}          200  200  200  200
DELETE /projects/{project_id}/branches/{branch_id}/databases/{database_name}         200  200  200  200
GET /projects/{project_id}/branches/{branch_id}/schema                               200  200  200  200
GET /projects/{project_id}/branches/{branch_id}/compare_schema                       200  200  200  200
GET /projects/{project_id}/endpoints                                                 200  200  200  200
POST /projects/{project_id}/endpoints                                                201  201  201  201
GET /projects/{project_id}/branches/{branch_id}/endpoints                            200  200  200  200
GET /projects/{project_id}/endpoints/{endpoint_id}                                   200  200  200  200
PATCH /projects/{project_id}/endpoints/{endpoint_id}                                 200  200  200  200
DELETE /projects/{project_id}/endpoints/{endpoint_id}                                200  200  200  200
POST /projects/{project_id}/endpoints/{endpoint_id}/start                            200  200  200  200
POST /projects/{project_id}/endpoints/{endpoint_id}/suspend                          200  200  200  200
POST /projects/{project_id}/endpoints/{endpoint_id}/restart                          200  200  200  200
GET /projects/{project_id}/operations                                                200  200  200  200
GET /projects/{project_id}/operations/{operation_id}                                 200  200  200  200
`;

/** The kinds of keys, in the order of the columns. */
export const callerNames = ["personal (administrator)", "personal (member)", "organization", "project-scoped"] as const;
export type CallerName = (typeof callerNames)[number];

/** By `METHOD /path`: the status for each kind of key. */
export const rights: ReadonlyMap<string, Readonly<Record<CallerName, number>>> = new Map(
  table
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [method = "", path = "", ...statuses] = line.trim().split(/\s+/);
      const [administrator = 0, member = 0, organization = 0, scoped = 0] = statuses.map(Number);
      return [
        `${method} ${path}`,
        {
          "personal (administrator)": administrator,
          "personal (member)": member,
          organization,
          "project-scoped": scoped,
        },
      ];
    }),
);
