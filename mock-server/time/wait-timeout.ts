/** Real time that a wait of the control API takes at most, unless its call says otherwise. */
export const waitTimeoutMs = 10_000;
