/** After this long a wait has failed. It judges no speed: a quiet machine needs a fraction of it, and speed is judged by npm run numbers. */
export const waitLimit = 60_000;
