// The bridge checks messages with zod, which compiles its checks if the policy of the page allows it, and causes a report
// if it does not. This module has to be the first that uses zod.

import { config } from "zod/v4";

config({ jitless: true });
