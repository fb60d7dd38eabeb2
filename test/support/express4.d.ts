// Express 4 beside Express 5, under an alias; what the tests use of it has the same types.
declare module "express4" {
  export { default } from "express";
}
