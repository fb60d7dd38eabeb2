const error = new Error(require("./message.cjs"));
error.code = "ERR_NO_ROOT_EXPORT";
throw error;
