/** What the list can be asked for; the rest of the types comes from the server as it is. */

import type { paths } from "./types";

export type Query = NonNullable<paths["/api/list"]["get"]["parameters"]["query"]>;
export type Filter = NonNullable<Query["filter"]>;
export type Sign = NonNullable<Query["sign"]>;
