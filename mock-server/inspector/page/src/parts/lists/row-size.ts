/** Heights in CSS pixels; the style sheet gets them as custom properties. */
export const rowPixels = 34;
export const headerPixels = 30;
