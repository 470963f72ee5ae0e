/** The part of JSON Schema that the table of the public API uses. */
export interface PublicSchema {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, PublicSchema>>;
  required?: readonly string[];
  items?: PublicSchema;
  additionalProperties?: boolean | PublicSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/** One operation of the public API. */
export interface PublicOperation {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Below `/api/v2`, with parameters in braces. */
  path: string;
  operationId: string;
  /** Names of the query parameters. */
  query?: readonly string[];
  /** Absent if the operation takes no JSON body. */
  body?: PublicSchema;
}
