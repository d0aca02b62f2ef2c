#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

// EVP_EC_gen is a macro over a variadic function; Swift imports neither.
static inline EVP_PKEY *nacre_generate_p256(void) { return EVP_EC_gen("P-256"); }

// Without a callback OpenSSL asks for the passphrase of an encrypted PEM on the terminal, and a server would hang.
static inline int nacre_no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer; (void)size; (void)writing; (void)context;
    return -1;
}

// A public key as SubjectPublicKeyInfo in DER; NULL where it is none, or bytes are left over.
static inline EVP_PKEY *nacre_read_public_key(const unsigned char *bytes, size_t count) {
    const unsigned char *rest = bytes;
    EVP_PKEY *key = d2i_PUBKEY(NULL, &rest, (long)count);
    if (key != NULL && rest == bytes + count) return key;
    EVP_PKEY_free(key);
    return NULL;
}
