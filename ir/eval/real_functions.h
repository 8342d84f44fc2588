// The real and complex functions behind the elementwise ops, on double and complex<double>.
#pragma once

#include "ir/eval/element.h"

namespace hloc::ir::eval {

double round_even(double x);
double cbrt_of(double x);
double logistic_of(double x);
double sign_of(double x);
double erf_inv_of(double x);
double digamma_of(double x);
double lgamma_of(double x);
double bessel_i1e_of(double x);
double zeta_of(double s, double q);
double polygamma_of(double n, double x);

double fmod_of(double a, double b);
double max_of(double a, double b);
double min_of(double a, double b);

Complex multiply_of(Complex a, Complex b);
Complex divide_of(Complex a, Complex b);
Complex power_of(Complex a, Complex b);
Complex sign_of(Complex z);
Complex sqrt_of(Complex z);
Complex rsqrt_of(Complex z);
Complex cbrt_of(Complex z);
Complex log_of(Complex z);
Complex log1p_of(Complex z);
Complex expm1_of(Complex z);
Complex logistic_of(Complex z);

}  // namespace hloc::ir::eval
