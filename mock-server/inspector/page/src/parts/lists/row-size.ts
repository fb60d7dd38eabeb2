/** Heights in CSS pixels, of rows with one and with two lines; the style sheet gets them as custom properties. */
export const rowPixels = { 1: 34, 2: 46 } as const;
export const headerPixels = 30;
