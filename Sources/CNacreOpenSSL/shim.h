#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

// EVP_EC_gen is a macro over a variadic function; Swift imports neither.
static inline EVP_PKEY *nacre_generate_p256(void) { return EVP_EC_gen("P-256"); }

// Without a callback OpenSSL asks for the passphrase of an encrypted PEM on the terminal, and a server would hang.
static inline int nacre_no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer; (void)size; (void)writing; (void)context;
    return -1;
}
