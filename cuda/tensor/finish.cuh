// Turns a sum into the element that is stored: alpha, beta, bias and ReLU.

#pragma once

// The value of an element of C in column n. C is read only where beta is not 0.
__device__ inline float finish(float sum, float alpha, float beta, const TC* c, const TC* bias, int n) {
    float value = alpha * sum;
    if (beta != 0) value += beta * float(*c);
    if (BIAS) value += float(bias[n]);
    if (RELU && value < 0) value = 0;  // a NaN stays
    return value;
}
