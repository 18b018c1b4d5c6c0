/**
 * The timeout of a wait, in ms. It does not measure speed: an idle machine needs a fraction of it, and `npm run
 * numbers` measures speed.
 */
export const waitLimit = 60_000;
